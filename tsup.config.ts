import { defineConfig, type Options } from 'tsup'
import { pageBuild } from './tools/report/pageBuild.js'

const shared: Options = {
  entry: {
    index: 'src/index.ts',
    'devnet/index': 'tools/devnet/index.ts',
    'ethers/index': 'src/ethers/index.ts',
    'kms/index': 'src/kms/index.ts',
    'opentelemetry/index': 'src/opentelemetry/index.ts',
    'outbox/index': 'src/outbox/index.ts',
    'postgres/index': 'src/store/postgres/index.ts',
    'recorder/index': 'src/recorder/index.ts',
    'signer/index': 'src/signer/index.ts',
    'sqlite/index': 'src/store/sqlite/index.ts',
    'store-contract/index': 'src/store/contract/index.ts',
  },
  target: 'es2022',
  // Shared code of the subpaths is one chunk, so that an error of the devnet is an instance of the root's
  // TxlaneError.
  splitting: true,
  // Optional packages: the library also works without them.
  external: [/^secp256k1/, /^keccak/, 'tiny-secp256k1'],
  sourcemap: true,
  // Workers and Deno would look for `fs` instead of `node:fs` in node_modules.
  removeNodeProtocol: false,
}

// Jest and older bundlers do not support `import()` in CommonJS. A lazily loaded chunk stands beside the file
// that loads it.
const requiredLater: NonNullable<Options['plugins']>[number] = {
  name: 'required-later',
  renderChunk: (code, { map }) => ({
    code: code.replace(/\bimport\((["']\.\/[^"']+\.cjs["'])\)/g, 'Promise.resolve().then(() => require($1))'),
    map: map ?? null,
  }),
}

export default defineConfig([
  { ...shared, format: 'esm' },
  {
    ...shared,
    format: 'cjs',
    // Uses Rollup, which replaces `import.meta` correctly in CommonJS, and keeps `??` and `?.` as they are.
    treeshake: true,
    // p-queue is ESM only: its `require` warns on Node 20 and fails under Jest and older bundlers.
    noExternal: ['p-queue'],
    plugins: [requiredLater],
  },
  {
    ...shared,
    entry: { 'cli/main': 'tools/cli/main.ts' },
    format: 'esm',
    // Bundled into the command line, so that users of the library do not install its dependencies.
    noExternal: [
      '@e965/xlsx',
      'cli-progress',
      'cli-table3',
      'commander',
      'csv-parse',
      'ethers',
      'picocolors',
    ],
    // Bundled CommonJS modules load Node's modules with `require`.
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
    },
    sourcemap: false,
  },
  // The script of the pages of `txlane report`: for browsers, without declarations.
  pageBuild('.'),
  // One pass for both: `.d.ts` beside `.js`, `.d.cts` beside `.cjs`.
  { ...shared, format: ['esm', 'cjs'], dts: { only: true } },
])
