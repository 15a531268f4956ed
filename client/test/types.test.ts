import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { afterAll, beforeAll, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
let folder = ''

/** Compiles `files` as strict modules that have the package's own declarations. @returns what is wrong with them. */
function problems(files: Record<string, string>, more: ts.CompilerOptions): string[] {
  const where = mkdtempSync(join(folder, 'project-'))
  writeFileSync(join(where, 'package.json'), '{"type": "module"}')
  const names = Object.entries(files).map(([name, text]) => {
    writeFileSync(join(where, name), text)
    return join(where, name)
  })
  const program = ts.createProgram(names, {
    target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext,
    strict: true, noEmit: true, types: ['node'], typeRoots: [join(ROOT, 'node_modules/@types')],
    ...more,
  })
  return ts.getPreEmitDiagnostics(program)
    .filter(({ file }) => !file || file.fileName.startsWith(folder))
    .map(({ file, messageText }) => `${file?.fileName.slice(folder.length)}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`)
}

beforeAll(() => {
  // Within the package, so that vue, axios and vite are found; in it the package as npm would lay it down.
  mkdirSync(join(ROOT, 'build'), { recursive: true })
  folder = mkdtempSync(join(ROOT, 'build', 'types-'))
  const own = join(folder, 'node_modules/glbp-client')
  mkdirSync(own, { recursive: true })
  for (const name of ['package.json', 'virtual.d.ts']) cpSync(join(ROOT, name), join(own, name))
  const { options, fileNames } = ts.parseJsonConfigFileContent(
    ts.readConfigFile(join(ROOT, 'tsconfig.build.json'), ts.sys.readFile).config, ts.sys, ROOT)
  const outDir = join(own, 'dist')
  const { emitSkipped } = ts.createProgram(fileNames, { ...options, outDir, emitDeclarationOnly: true }).emit()
  expect(emitSkipped).toBe(false)
})
afterAll(() => rmSync(folder, { recursive: true }))

it('what the README shows compiles as it stands', () => {
  const text = readFileSync(join(ROOT, 'README.md'), 'utf8')
  const files: Record<string, string> = {
    'vue.d.ts': "declare module '*.vue' {\n  import type { Component } from 'vue'\n  const component: Component\n  export default component\n}\n",
  }
  let unnamed = 0
  for (const [, code = ''] of text.matchAll(/^```ts\n(.*?)^```$/gms))
    files[/^\/\/ ([\w.]+\.ts)$/m.exec(code)?.[1] ?? `unnamed-${++unnamed}.ts`] = `${code}\nexport {}\n`
  expect(Object.keys(files).length).toBeGreaterThan(8)
  expect(problems(files, { lib: ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'], skipLibCheck: true })).toEqual([])
})

it('a server\'s project without the DOM\'s types can use the core', () => {
  const code = `
    import { createGlbp, GlbpError, type Env, type GlbpInit } from 'glbp-client'
    const env: Partial<Env> = { fetch, warn: (text) => console.log(text), storage: () => undefined }
    const glbp = createGlbp({ agents: ['https://a/pool'], env })
    const init: GlbpInit = { method: 'POST', body: 'x', glbp: { retry: true } }
    const answer: Response = await glbp.fetch(new URL('https://a/x'), init)
    glbp.on('failover', ({ from }) => from.length + answer.status)
    // @ts-expect-error a number is no target
    void glbp.fetch(7)
    // @ts-expect-error its init is typed
    void glbp.fetch('/x', { method: 7 })
    export { GlbpError }
  `
  expect(problems({ 'index.ts': code }, { lib: ['lib.es2022.d.ts'], skipLibCheck: false })).toEqual([])
})

it('a browser\'s own things are what Env takes', () => {
  const code = `
    import type { Env } from 'glbp-client'
    export const env: Partial<Env> = {
      storage: () => localStorage, page: { document, window }, events: (url) => new EventSource(url),
      channel: (name) => new BroadcastChannel(name), locks: navigator.locks,
    }
  `
  expect(problems({ 'index.ts': code }, { lib: ['lib.es2022.d.ts', 'lib.dom.d.ts'], types: [], skipLibCheck: false })).toEqual([])
})
