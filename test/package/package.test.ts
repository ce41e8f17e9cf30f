import { builtinModules } from 'node:module'
import { posix } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Packed, packAndInstall } from './packed.js'

let packed: Packed
let subpaths: readonly string[]

beforeAll(async () => {
  packed = await packAndInstall()
  subpaths = Object.keys(packed.manifest.exports)
    .filter((subpath) => subpath !== './package.json')
    .map((subpath) => posix.join('txlane', subpath))
}, 120_000)
afterAll(() => packed?.remove())

describe('the tarball', () => {
  it('holds the build, the README and the licence, and nothing else', () => {
    const others = packed.files.filter((file) => !/^dist\/[\w./-]+\.c?js(?:\.map)?$/.test(file))
    expect(others.sort()).toEqual(['LICENSE', 'README.md', 'package.json'])
  })

  it('resolves every path that it exports', () => {
    const targets = [...JSON.stringify(packed.manifest.exports).matchAll(/"\.\/(dist\/[^"]+\.c?js)"/g)]
    expect(targets.length).toBeGreaterThanOrEqual(2 * subpaths.length)
    for (const [, file] of targets) expect(packed.files).toContain(file)
  })
})

describe('publishing', () => {
  it('is accepted by npm as it stands: nothing in package.json has to be corrected', async () => {
    const { stdout, stderr } = await packed.publishDryRun()
    type Published = { readonly name: string; readonly files: readonly { readonly path: string }[] }
    // npm 11 puts it below the name of the package.
    const output = JSON.parse(stdout) as Published | { readonly txlane: Published }
    const { name, files } = 'txlane' in output ? output.txlane : output
    expect({ name, files: files.map(({ path }) => path) }).toEqual({ name: 'txlane', files: packed.files })
    expect(stderr).not.toMatch(/auto-corrected|npm error/i)
  })
})

describe('the installed package', () => {
  it('exports the same names to import and to require from each subpath, without warnings', async () => {
    const [esm, cjs] = await Promise.all([
      packed.node('names.mjs', printNames(subpaths, 'import')),
      packed.node('names.cjs', printNames(subpaths, 'require')),
    ])
    expect({ esm: esm.stderr, cjs: cjs.stderr }).toEqual({ esm: '', cjs: '' })
    const names = JSON.parse(esm.stdout) as Record<string, string[]>
    expect(JSON.parse(cjs.stdout)).toEqual(names)
    expect(Object.keys(names)).toEqual(subpaths)
    const known =
      /^(?:awsKmsAccount|createOutbox|createSender|instrument|laneSigner|nativeAccount|recordTo|startDevnet|storeContract|\w+Store)$/
    for (const subpath of subpaths) expect(names[subpath]).toContainEqual(expect.stringMatching(known))
  })

  it('does nothing on import: no global, no timer, no listener, no output', async () => {
    const specifiers = JSON.stringify(subpaths)
    const { stdout, stderr } = await packed.node('effects.mjs', sideEffects(specifiers))
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toEqual({ globals: [], symbols: [], listeners: [], resources: [] })
  })

  it('has no module of Node in the files that its root loads, in either format', async () => {
    for (const entry of ['dist/index.js', 'dist/index.cjs']) {
      const loaded = await closure(entry)
      expect(
        loaded.packages.filter((name) => name.startsWith('node:') || builtinModules.includes(name)),
      ).toEqual([])
      const allowed = entry.endsWith('.cjs') ? ['async-mutex', 'viem'] : ['async-mutex', 'p-queue', 'viem']
      expect([...new Set(loaded.packages.map((name) => name.split('/')[0]))].sort()).toEqual(allowed)
      // Matches only uses, because messages mention processes too.
      for (const text of loaded.texts)
        expect(text).not.toMatch(
          /\b(?:process|Buffer)\.[a-z]|= *(?:process|Buffer)\b|\b__(?:dirname|filename)\b/,
        )
    }
  })

  it('loads the engine when the first lane opens, and not earlier', async () => {
    for (const entry of ['dist/index.js', 'dist/index.cjs']) {
      const atOnce = await closure(entry, { later: false })
      expect([...new Set(atOnce.packages.map((name) => name.split('/')[0]))]).toEqual(['viem'])
      const all = await closure(entry)
      expect(all.texts.length).toBeGreaterThan(atOnce.texts.length)
      // In an environment with CommonJS only, `import()` fails.
      if (entry.endsWith('.cjs')) for (const text of all.texts) expect(text).not.toMatch(/\bimport\(/)
    }
    const [esm, cjs] = await Promise.all([
      packed.node('later.mjs', LOADED_LATER),
      packed.node('later.cjs', LOADED_LATER_BY_REQUIRE),
    ])
    expect(JSON.parse(esm.stdout)).toEqual({ answered: 'CHAIN_MISMATCH' })
    expect(JSON.parse(cjs.stdout)).toEqual({ answered: 'CHAIN_MISMATCH', before: 0, after: 1 })
  })

  it('shares lanes between its ESM and its CommonJS copy, so that one account never gets a nonce twice', async () => {
    const { stdout } = await packed.node('both.mjs', BOTH_COPIES)
    expect(JSON.parse(stdout)).toEqual({
      otherCopy: true,
      registry: 'one',
      nonces: Array.from({ length: 12 }, (_, nonce) => nonce),
      known: true,
    })
  })

  it('contains the command line with all of its dependencies bundled', async () => {
    const { txlane } = packed.manifest.bin
    for (const command of ['', 'send', 'inspect', 'fill', 'cancel', 'devnet', 'report']) {
      const argv = JSON.stringify([command, '--help'].filter((word) => word !== ''))
      const script = `process.argv.push(...${argv})\nawait import('./node_modules/txlane/${txlane}')`
      const { stdout, stderr } = await packed.node('cli.mjs', script)
      expect({ usage: stdout.split('\n')[0], stderr }).toEqual({
        usage: expect.stringContaining(`Usage: txlane ${command}`),
        stderr: '',
      })
    }
  })

  it('starts a devnet from CommonJS, in any working directory', async () => {
    const { stdout } = await packed.node('devnet.cjs', DEVNET_FROM_COMMONJS)
    expect(stdout.trim()).toBe('31337')
  })
})

// Matches statements at the start of a line, possibly of several lines: kept comments hold examples.
const LOADS = /(?:^(?:import|export)\b[^'"();]*|(?:^|= )require\()['"]([^'"\n]+)['"]/gm
const LOADS_LATER = /(?:\bimport|=> require)\(['"]([^'"\n]+)['"]/g

/** Every file that an entry loads, at once or later, and every package that these files import. */
async function closure(
  entry: string,
  { later = true } = {},
): Promise<{ texts: string[]; packages: string[] }> {
  const texts: string[] = []
  const packages: string[] = []
  const seen = new Set<string>()
  const open = [entry]
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (seen.has(file)) continue
    seen.add(file)
    const text = await packed.read(file)
    texts.push(text)
    const loads = [...text.matchAll(LOADS), ...(later ? text.matchAll(LOADS_LATER) : [])]
    for (const [, specifier = ''] of loads) {
      if (specifier.startsWith('.')) open.push(posix.join(posix.dirname(file), specifier))
      else packages.push(specifier)
    }
  }
  return { texts, packages }
}

const printNames = (subpaths: readonly string[], load: 'import' | 'require') => `
const print = async () => {
  const names = {}
  for (const subpath of ${JSON.stringify(subpaths)})
    names[subpath] = Object.keys(await ${load}(subpath)).filter((name) => !['default', '__esModule'].includes(name)).sort()
  console.log(JSON.stringify(names))
}
print()
`

const sideEffects = (specifiers: string) => `
import 'viem'
import 'viem/accounts'
const state = () => ({
  globals: Object.getOwnPropertyNames(globalThis),
  symbols: Object.getOwnPropertySymbols(globalThis).map(String),
  listeners: process.eventNames().map(String),
  resources: process.getActiveResourcesInfo().filter((name) => name !== 'PipeWrap'),
})
const before = state()
for (const specifier of ${specifiers}) await import(specifier)
const after = state()
const added = Object.keys(after).map((key) => [key, after[key].filter((item) => !before[key].includes(item))])
console.log(JSON.stringify(Object.fromEntries(added)))
`

// A node on another chain than the client's: opening the lane gets as far as the node's first answer.
const OPEN_A_LANE = `
async function open({ createSender }, { createClient, custom, defineChain }, { privateKeyToAccount }) {
  const nativeCurrency = { name: 'Ether', symbol: 'ETH', decimals: 18 }
  const chain = defineChain({ id: 1, name: 'Here', nativeCurrency, rpcUrls: { default: { http: [] } } })
  const client = createClient({ chain, transport: custom({ request: async () => '0x2' }) })
  const account = privateKeyToAccount('0x' + '1'.repeat(64))
  return createSender({ client, account }).ready().then(() => 'ready', ({ code }) => code)
}`

const LOADED_LATER = `${OPEN_A_LANE}
const answered = await open(await import('txlane'), await import('viem'), await import('viem/accounts'))
console.log(JSON.stringify({ answered }))
`

const LOADED_LATER_BY_REQUIRE = `${OPEN_A_LANE}
const loaded = () => Object.keys(require.cache).filter((file) => /\\/txlane\\/dist\\/runtime/.test(file)).length
const txlane = require('txlane')
const before = loaded()
open(txlane, require('viem'), require('viem/accounts')).then((answered) =>
  console.log(JSON.stringify({ answered, before, after: loaded() })))
`

const BOTH_COPIES = `
import { createRequire } from 'node:module'
import { createSender, isTxlaneError } from 'txlane'
import { startDevnet } from 'txlane/devnet'
const copy = createRequire(import.meta.url)('txlane')
const registry = () => globalThis[Symbol.for('txlane.shared.v5')]
const devnet = await startDevnet({ blockTimeMs: 200, flashblockMs: 100 })
try {
  const options = { client: devnet.client(), lossDepth: 'child', coldStart: 'immediate' }
  const senders = [createSender(options), copy.createSender(options)]
  const first = registry()
  const sends = Array.from({ length: 12 }, (_, i) =>
    senders[i % 2].send({ to: devnet.accounts[1].address, value: 1n, gas: 21000n }))
  const txs = await Promise.all(sends)
  const error = await senders[1].send({ to: 'nowhere' }).catch((error) => error)
  const result = {
    otherCopy: createSender !== copy.createSender,
    registry: first !== undefined && first === registry() && first.lanes.size === 1 ? 'one' : 'several',
    nonces: txs.map((tx) => tx.nonce).sort((a, b) => a - b),
    known: error instanceof copy.TxlaneError && isTxlaneError(error),
  }
  await Promise.all(txs.map((tx) => tx.wait('sealed')))
  await Promise.all(senders.map((sender) => sender.close()))
  console.log(JSON.stringify(result))
} finally {
  await devnet.stop()
}
`

const DEVNET_FROM_COMMONJS = `
const { startDevnet } = require('txlane/devnet')
startDevnet().then(async (devnet) => {
  console.log(await devnet.client().getChainId())
  await devnet.stop()
})
`
