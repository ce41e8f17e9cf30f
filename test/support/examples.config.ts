import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const source = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))

// The examples import the package by its name. The alias resolves it to the source.
export default defineConfig({
  resolve: {
    alias: [
      { find: /^txlane$/, replacement: source('src/index.ts') },
      { find: /^txlane\/devnet$/, replacement: source('tools/devnet/index.ts') },
    ],
  },
  test: { testTimeout: 60_000, hookTimeout: 60_000 },
})
