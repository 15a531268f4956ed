import { fileURLToPath } from 'node:url'
import vue from '@vitejs/plugin-vue'
import { defineConfig } from 'vite'
import glbp from '../src/vite/index.js'

const source = (path: string) => fileURLToPath(new URL(`../src/${path}`, import.meta.url))

export default defineConfig({
  plugins: [vue(), glbp()],
  base: './',
  resolve: {
    // The package's source beside this folder; an application of its own has it from npm.
    alias: [
      { find: /^glbp-client$/, replacement: source('index.ts') },
      { find: /^glbp-client\/vue$/, replacement: source('vue/index.ts') },
    ],
    dedupe: ['vue'],
  },
})
