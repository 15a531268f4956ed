import { readFileSync } from 'node:fs'
import { posix, resolve, win32 } from 'node:path'
import { fileURLToPath } from 'node:url'
import { agents as checkAgents, gateways as checkGateways, object } from '../check.js'
import type { StaticGateway } from '../types.js'

/** The section `frontend` of a gateway.json. */
export interface Frontend {
  agents: string[]
  gateways: (string | StaticGateway)[]
}

const checkFrontend = object<Frontend>({ agents: checkAgents, gateways: checkGateways })

const DRIVE = /^[a-z]:[\\/]|^\\\\/i
const CONTROL = /[\u0000-\u001f]/
const WRITE = 'write each backslash of a Windows path twice ("C:\\\\ASR\\\\config"), or / in its place ("C:/ASR/config")'
const EXAMPLE = '"frontend": {"agents": ["https://bff-1.example.com/pool/web"], "gateways": ["https://bff-1.example.com"]}'

/**
 * Where a config file lies: a path of Windows or a share on any host, a `file:` url, or a path from `root`.
 * @throws Error for what a single backslash made of a path.
 */
export function configPath(path: string, root: string): string {
  if (CONTROL.test(path)) throw new Error(`${JSON.stringify(path)}: a backslash was taken for an escape: ${WRITE}`)
  if (/^file:/i.test(path)) return fileURLToPath(path, { windows: /^file:(\/\/\/[a-z]:|\/\/[^/])/i.test(path) })
  if (DRIVE.test(path)) return win32.normalize(path)
  if (/^[a-z]:/i.test(path)) throw new Error(`${path}: which folder of ${path[0]}: is meant? Write it from the root: ${path[0]}:/ASR/config/gateway.json`)
  if (DRIVE.test(root)) return win32.resolve(root, path)
  return resolve(root, posix.normalize(path.replaceAll('\\', '/')))
}

/** The first string below `value` that holds a control character. */
function spoilt(value: unknown): string | undefined {
  if (typeof value === 'string') return CONTROL.test(value) ? value : undefined
  if (typeof value !== 'object' || value === null) return undefined
  for (const item of Object.values(value)) {
    const found = spoilt(item)
    if (found !== undefined) return found
  }
  return undefined
}

/** The line of the first backslash that JSON does not know, or does not mean as its writer did. */
function lineOfPath(text: string): number | undefined {
  const at = text.search(/"[a-z]:\\(?!\\)|(?<!\\)(\\\\)*\\[^"\\/bfnrtu]/i)
  return at < 0 ? undefined : text.slice(0, at).split('\n').length
}

/**
 * Takes `frontend` out of a gateway.json; a file with nothing else is fine.
 * @param file its name, for messages.
 * @throws Error that says where, and what to write.
 */
export function parseFrontend(source: string, file: string): Frontend {
  const text = source.replace(/^\uFEFF/, '')
  if (!text.trim()) throw new Error(`${file}: the file is empty: write {${EXAMPLE}}`)
  let config: unknown
  try {
    config = JSON.parse(text)
  } catch (error) {
    const line = lineOfPath(text)
    throw new Error(line ? `${file}:${line}: ${WRITE}` : `${file}: ${(error as Error).message}`)
  }
  const bad = spoilt(config)
  if (bad !== undefined)
    throw new Error(`${file}:${lineOfPath(text) ?? 1}: ${JSON.stringify(bad)} holds a control character: ${WRITE}`)
  const frontend: unknown = (config as { frontend?: unknown } | null)?.frontend
  if (typeof frontend !== 'object' || frontend === null) throw new Error(`${file}: there is no "frontend": add ${EXAMPLE}`)
  try {
    checkFrontend(frontend, 'frontend')
  } catch (error) {
    throw new Error(`${file}: ${(error as Error).message}`)
  }
  const { agents = [], gateways = [] } = frontend as Partial<Frontend>
  if (!agents.length && !gateways.length) throw new Error(`${file}: frontend: name agents or gateways: ${EXAMPLE}`)
  return { agents, gateways }
}

/**
 * Reads a gateway.json.
 * @throws Error that says where, and what to write.
 */
export function readFrontend(file: string): Frontend {
  let source: string
  try {
    source = readFileSync(file, 'utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const why = code === 'ENOENT' ? 'there is no such file' : code === 'EISDIR' ? 'that is a folder' : message
    throw new Error(`${file}: ${why}: name the gateway.json in glbp({ config: '...' }), from Vite's root or in full`)
  }
  return parseFrontend(source, file)
}
