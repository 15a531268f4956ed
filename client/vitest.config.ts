import { defineConfig } from 'vitest/config'

// The clock of the tests is a fake one; a busy machine must not fail them.
export default defineConfig({ test: { include: ['test/**/*.test.ts'], testTimeout: 120_000, hookTimeout: 120_000 } })
