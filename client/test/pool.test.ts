import fc from 'fast-check'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { Acceptor, compareStamps, refreshMs } from '../src/accept.js'
import { parsePool, staticPool } from '../src/pool.js'
import { bareUrl, joinUrl, vetUrl } from '../src/url.js'
import { pool } from './world.js'

const GOLDEN = new URL('../../tests/golden/pool/', import.meta.url)

describe('the agent\'s golden pools', () => {
  const names = readdirSync(GOLDEN).filter((name) => name.endsWith('.json'))
  it('are there', () => expect(names.length).toBeGreaterThan(10))
  it.each(names)('%s is read whole, unchanged but for a slash at a url\'s end', (name) => {
    const text = readFileSync(new URL(name, GOLDEN), 'utf8')
    const dropped: string[] = []
    const parsed = parsePool(JSON.parse(text), {}, dropped)
    expect(dropped).toEqual([])
    expect(JSON.stringify(parsed)).toBe(text.trim().replaceAll('/"', '"'))
  })
})

describe('parsePool', () => {
  it.each([
    ['null', null], ['a list', []], ['a text', 'pool'], ['no stamp', { gateways: [] }],
    ['no gateway', { ...pool(), gateways: [] }], ['gateways null', { ...pool(), gateways: null }],
    ['a huge term', { ...pool(), term: 1e300 }], ['a term NaN', { ...pool(), term: NaN }],
    ['a negative version', { ...pool(), version: -1 }],
  ])('refuses %s', (_, value) => expect(() => parsePool(value, {})).toThrow(/the pool/))

  it.each([
    [{ weight: null }, /weight/], [{ weight: NaN }, /weight/], [{ weight: 1e21 }, /weight/], [{ weight: -1 }, /weight/],
    [{ weight: 0.5 }, /weight/], [{ slot: null }, /slot/], [{ url: 'javascript:alert(1)' }, /neither http/],
    [{ url: 'http://u:secret@g1' }, /credentials/], [{ url: 'http://evil.example' }, /allow/], [{ url: 7 }, /no url/],
    [{ url: 'http://g1/?x' }, /query/],
  ])('leaves out an entry with %j', (field, reason) => {
    const from = pool()
    Object.assign(from.gateways[1]!, field)
    const dropped: string[] = []
    const parsed = parsePool(from, { allow: ['http://g1', 'http://g2', 'http://g3'] }, dropped)
    expect(parsed.gateways.map(({ slot }) => slot)).toEqual([1, 3])
    expect(dropped).toHaveLength(1)
    expect(dropped[0]).toMatch(reason)
    expect(dropped[0]).not.toContain('secret')
  })

  it('takes unusable times for their defaults, and a null latency for unknown', () => {
    const parsed = parsePool({ ...pool(), refresh_ms: NaN, hold_ms: 1e99 }, {})
    expect(refreshMs(parsed)).toBe(5000)
    expect(refreshMs(parsePool({ ...pool(), refresh_ms: 1 }, {}))).toBe(500)
    expect(new Acceptor().poll([parsed], 0)).toBe(parsed)
    const from = { ...pool(), gateways: [{ ...pool().gateways[0], latency: null }] }
    expect(parsePool(from, {}).gateways[0]!.latency).toBeNull()
  })

  it('never gives anything but finite numbers and vetted urls, whatever comes', () => {
    const number = fc.oneof(fc.double(), fc.integer(), fc.constant(null), fc.string())
    const entry = fc.record({ slot: number, url: fc.oneof(fc.webUrl(), fc.string()), weight: number, latency: number,
      alive: fc.anything(), state: fc.anything() }, { requiredKeys: [] })
    const any = fc.record({ term: number, version: number, avg: fc.anything(), refresh_ms: number, hold_ms: number,
      gateways: fc.array(fc.oneof(entry, fc.anything())), agents: fc.anything() }, { requiredKeys: [] })
    fc.assert(fc.property(any, (value) => {
      let parsed
      try {
        parsed = parsePool(value, {})
      } catch {
        return
      }
      const { term, version, refresh_ms, hold_ms, gateways } = parsed
      expect([term, version, refresh_ms, hold_ms].every(Number.isSafeInteger)).toBe(true)
      expect(gateways.length).toBeGreaterThan(0)
      for (const { url, weight, slot } of gateways) {
        expect(Number.isSafeInteger(weight) && weight >= 0 && Number.isSafeInteger(slot)).toBe(true)
        expect(vetUrl(url)).toBe(url)
      }
    }), { numRuns: 300 })
  })
})

describe('urls', () => {
  it('of Windows are told as that', () => {
    expect(() => vetUrl('C:\\new\\test')).toThrow(/path of Windows/)
    expect(() => vetUrl('C:\new\test')).toThrow(/neither http|no url|Windows/)
    expect(() => staticPool(['http://ok', 'C:\\new\\test'], [])).toThrow(/gateways: .*Windows/)
  })
  it('of http on a page of https are mixed content, but for loopback', () => {
    expect(() => vetUrl('http://g1', { secure: true })).toThrow(/mixed content/)
    expect(vetUrl('http://127.0.0.1:3000', { secure: true })).toBe('http://127.0.0.1:3000')
  })
  it.each([
    ['https://a.example.com', true], ['https://a.b.example.com', true], ['https://example.com', false],
    ['https://evil-example.com', false], ['http://a.example.com', false], ['https://a.example.com.evil.net', false],
  ])('%s under https://*.example.com: %s', (url, ok) => {
    const vet = () => vetUrl(url, { allow: ['https://*.example.com'] })
    if (ok) expect(vet()).toBe(url)
    else expect(vet).toThrow(/allow/)
  })
  it('are joined so that no path leaves its gateway', () => {
    for (const path of ['/x', 'x', '//evil.net/x', '\\\\evil.net', '@evil.net', '?q', '#f', ''])
      expect(new URL(joinUrl('http://g1', path)).origin).toBe('http://g1')
    expect(joinUrl('http://g1/api', '/x?a=1')).toBe('http://g1/api/x?a=1')
  })
  it('are shown bare', () => expect(bareUrl('http://u:p@g1/x?token=1#f')).toBe('http://g1/x'))
})

describe('which table is kept (protocol, section 8)', () => {
  const at = (version: number, more = {}) => pool({ version, ...more })

  it('orders stamps by term, AVG and version', () => {
    expect(compareStamps(pool({ term: 2, version: 1 }), pool({ term: 1, version: 9 }))).toBeGreaterThan(0)
    expect(compareStamps(pool({ avg: 'a', version: 9 }), pool({ avg: 'b', version: 1 }))).toBeLessThan(0)
    expect(compareStamps(at(2), at(1))).toBeGreaterThan(0)
    expect(compareStamps(at(1), at(1))).toBe(0)
  })
  it('never goes back at once', () => {
    const acceptor = new Acceptor()
    expect(acceptor.poll([at(5)], 0)).toMatchObject({ version: 5 })
    expect(acceptor.poll([at(4)], 5000)).toBeUndefined()
    expect(acceptor.poll([at(4), at(6)], 10_000)).toMatchObject({ version: 6 })
  })
  it('prefers a majority, then one that is not lone, among tables served at one time', () => {
    expect(new Acceptor().poll([at(9, { majority: false }), at(1)], 0)).toMatchObject({ version: 1 })
    expect(new Acceptor().poll([at(9, { lone: true }), at(1)], 0)).toMatchObject({ version: 1 })
    expect(new Acceptor().poll([at(9, { majority: false }), at(1, { lone: true })], 0)).toMatchObject({ version: 1 })
  })
  it('leaves a minority for a majority, whatever the stamps', () => {
    const acceptor = new Acceptor()
    acceptor.poll([at(9, { majority: false })], 0)
    expect(acceptor.poll([at(3), at(9, { majority: false })], 5000)).toMatchObject({ version: 3 })
  })
  it('forgets after 3 polls, and not before 2 hold', () => {
    const slow = new Acceptor()
    slow.poll([at(5)], 0)
    expect(slow.poll([at(1)], 5000)).toBeUndefined()
    expect(slow.poll([at(1)], 10_000)).toBeUndefined()
    expect(slow.poll([at(1)], 15_000)).toMatchObject({ version: 1 })
    const quick = new Acceptor()
    quick.poll([at(5)], 0)
    for (const ms of [1000, 2000, 3000, 6999]) expect(quick.poll([at(1)], ms)).toBeUndefined()
    expect(quick.poll([at(1)], 7000)).toMatchObject({ version: 1 })
  })
  it('does not forget while somebody serves it', () => {
    const acceptor = new Acceptor()
    acceptor.poll([at(5)], 0)
    for (let k = 1; k < 20; k++) expect(acceptor.poll([at(1), ...(k % 3 ? [] : [at(5)])], k * 5000)).toBeUndefined()
  })
  it('is never lower than the greatest stamp served, when all are equal otherwise', () => {
    fc.assert(fc.property(fc.array(fc.array(fc.nat(9), { minLength: 1, maxLength: 3 }), { minLength: 1 }), (polls) => {
      const acceptor = new Acceptor()
      polls.forEach((served, k) => acceptor.poll(served.map((version) => at(version)), k * 5000))
      expect(acceptor.kept!.version).toBeGreaterThanOrEqual(Math.max(...polls.at(-1)!))
    }))
  })
})
