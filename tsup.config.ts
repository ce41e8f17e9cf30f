import { defineConfig, type Options } from 'tsup'
import { pageBuild } from './src/cli/report/pageBuild.js'

const shared: Options = {
  entry: {
    index: 'src/index.ts',
    'devnet/index': 'src/devnet/index.ts',
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
  // What the subpaths share is one file, so that an error of the devnet is an instance of the root's TxlaneError.
  splitting: true,
  // Optional: what is not there for this machine is done without.
  external: [/^secp256k1/, /^keccak/, 'tiny-secp256k1'],
  sourcemap: true,
  // `fs` instead of `node:fs` would be looked for in node_modules by workers and Deno.
  removeNodeProtocol: false,
}

// CommonJS under Jest and in older bundlers knows no `import()`. What is loaded later stands beside what loads it.
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
    // By way of Rollup, which knows what `import.meta` is there, and keeps `??` and `?.` as they are.
    treeshake: true,
    // p-queue is ESM only: `require` of it warns on Node 20 and fails under Jest and older bundlers.
    noExternal: ['p-queue'],
    plugins: [requiredLater],
  },
  {
    ...shared,
    entry: { 'cli/main': 'src/cli/main.ts' },
    format: 'esm',
    // Inside it: who installs the library does not install what its command line is made of.
    noExternal: ['cli-progress', 'cli-table3', 'commander', 'csv-parse', 'ethers', 'picocolors'],
    // CommonJS inside asks for modules of Node in its own way.
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
    },
    sourcemap: false,
  },
  // What `txlane report` puts into its pages: a script for browsers, without declarations.
  pageBuild('.'),
  // One pass for both: `.d.ts` beside `.js`, `.d.cts` beside `.cjs`.
  { ...shared, format: ['esm', 'cjs'], dts: { only: true } },
])
