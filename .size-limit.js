// The code that an import loads immediately. Code behind `import()` comes later. A loaded file counts
// completely, because a page that loads the files unbundled loads all of them, including chunks that other
// entries share.
const atOnce = (config) => ({
  ...config,
  treeShaking: false,
  // Importing a file loads it, whether or not its exports are used.
  ignoreAnnotations: true,
  plugins: [
    {
      name: 'at-once',
      setup: (build) =>
        build.onResolve({ filter: /^/ }, ({ kind, path }) =>
          kind === 'dynamic-import' ? { path, external: true } : undefined,
        ),
    },
  ],
})

// All code that is ever loaded, split into files.
const inTheEnd = (config) => ({ ...config, format: 'esm', splitting: true })

const subpath = (name, limit, ignore = [], modifyEsbuildConfig = atOnce) => ({
  name: `${name} (gzip)`,
  path: `dist/${name.match(/^txlane\/?([a-z]*)/)[1]}/index.js`.replace('//', '/'),
  gzip: true,
  ignore,
  limit,
  modifyEsbuildConfig,
})

export default [
  subpath('txlane, viem excluded: loaded by importing it', '39.4 kB'),
  subpath(
    'txlane, viem excluded: with all that the first lane and the first read load',
    '205.3 kB',
    [],
    inTheEnd,
  ),
  subpath('txlane/devnet, viem excluded', '32.8 kB', ['node:*']),
  subpath('txlane/postgres, viem and pg excluded', '21.4 kB', ['pg']),
  subpath('txlane/signer, viem and the addons excluded', '8.4 kB', ['secp256k1', 'keccak', 'tiny-secp256k1']),
  subpath('txlane/sqlite, viem and libsql excluded', '17.4 kB', ['libsql', 'node:*']),
  subpath('txlane/ethers, viem and its peers excluded', '14.1 kB', ['ethers']),
  subpath('txlane/kms, viem and @noble/curves, which it brings, and the addons excluded', '15 kB', [
    '@noble/curves',
    'secp256k1',
    'keccak',
    'tiny-secp256k1',
  ]),
  subpath('txlane/opentelemetry, viem and its peers excluded', '9 kB', ['@opentelemetry/api']),
  subpath('txlane/outbox, viem excluded', '26.8 kB'),
  subpath('txlane/recorder, viem excluded', '10 kB', ['node:*']),
]
