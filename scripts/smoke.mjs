// Sends a few transactions with the packed root entry on Bun, Deno and workerd, which come from the npm
// registry. The root entry uses no module of Node, and this script proves it. It is not part of the tests,
// because the three runtimes have 300 MB.
import { execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('..', import.meta.url))
const { platform, arch } = process
// Path of each package's binary for this machine; npm runs no install scripts for it.
const BINARIES = {
  bun: [`@oven/bun-${platform}-${arch === 'arm64' ? 'aarch64' : arch}/bin/bun`],
  deno: [`@deno/${platform}-${arch}-glibc/deno`, `@deno/${platform}-${arch}/deno`],
  workerd: [`@cloudflare/workerd-${platform}-${arch === 'x64' ? '64' : arch}/bin/workerd`],
}

const PROGRAM = `
import { createSender } from 'txlane'
import { createClient, defineChain, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

export async function smoke(url) {
  const chain = defineChain({
    id: 31337,
    name: 'devnet',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [url] } },
    custom: { singleSequencer: true },
  })
  const account = privateKeyToAccount('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80')
  const sender = createSender({ client: createClient({ account, chain, transport: http(url) }), coldStart: 'immediate' })
  const sent = await Promise.all(Array.from({ length: 5 }, () => sender.send({ to: account.address, value: 0n })))
  const landed = await Promise.all(sent.map((tx) => tx.wait('sealed')))
  await sender.close()
  return landed.map(({ status }) => status).join()
}
`
const ON_STDOUT = `import { smoke } from './smoke.mjs'\nconst url = (globalThis.Deno?.args ?? process.argv.slice(2))[0]\nconsole.log(await smoke(url))\n`
const AS_WORKER = `import { smoke } from './smoke.mjs'
export default { async fetch(request) { return new Response(await smoke(new URL(request.url).searchParams.get('node'))) } }
`

const TIMEOUT = { timeout: 60_000 }

const folder = await mkdtemp(join(tmpdir(), 'txlane-smoke-'))
let failed = 0
let stop = async () => {}
try {
  await install()
  const url = await startChain()
  for (const [name, on] of Object.entries({ bun, deno, workerd })) await report(name, () => on(url))
} finally {
  await stop()
  await rm(folder, { recursive: true, force: true })
}
process.exit(failed === 0 ? 0 : 1)

async function install() {
  await writeFile(join(folder, 'package.json'), '{"private":true,"type":"module"}')
  await run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', ...Object.keys(BINARIES)], {
    cwd: folder,
  })
  const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder], {
    cwd: ROOT,
  })
  const installed = join(folder, 'node_modules/txlane')
  await mkdir(installed)
  await run('tar', [
    '-xzf',
    join(folder, JSON.parse(stdout)[0].filename),
    '-C',
    installed,
    '--strip-components=1',
  ])
  for (const name of [
    'viem',
    'async-mutex',
    'p-queue',
    'eventemitter3',
    'p-timeout',
    'tslib',
    'abitype',
    'ox',
    '@noble',
    '@scure',
    '@adraffy',
    'isows',
    'ws',
  ]) {
    const from = join(ROOT, 'node_modules', name)
    if (existsSync(from)) await symlink(from, join(folder, 'node_modules', name)).catch(() => {})
  }
  await writeFile(join(folder, 'smoke.mjs'), PROGRAM)
  await writeFile(join(folder, 'stdout.mjs'), ON_STDOUT)
  await writeFile(join(folder, 'worker.mjs'), AS_WORKER)
}

async function startChain() {
  const child = spawn(
    process.execPath,
    [join(ROOT, 'dist/cli/main.js'), 'devnet', '--port', '0', '--json', '--block-time', '400'],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  stop = () => new Promise((resolve) => child.once('close', resolve) && child.kill('SIGTERM'))
  const line = await new Promise((resolve) => child.stdout.once('data', resolve))
  return JSON.parse(line.toString()).url
}

async function report(name, on) {
  try {
    const said = (await on()).trim()
    if (said !== 'success,success,success,success,success') throw new Error(said)
    console.log(`${name}: 5 of 5 sealed`)
  } catch (error) {
    failed++
    console.log(`${name}: ${error.stderr || error.message}`)
  }
}

function program(name) {
  const found = BINARIES[name].map((path) => join(folder, 'node_modules', path)).find(existsSync)
  if (found === undefined) throw new Error(`the registry has no ${name} for ${platform} ${arch}`)
  return found
}

async function bun(url) {
  return (await run(program('bun'), [join(folder, 'stdout.mjs'), url], { cwd: folder, ...TIMEOUT })).stdout
}

async function deno(url) {
  const args = [
    'run',
    '--no-remote',
    '--allow-net=127.0.0.1',
    '--allow-read',
    '--allow-env',
    join(folder, 'stdout.mjs'),
    url,
  ]
  return (await run(program('deno'), args, { cwd: folder, ...TIMEOUT })).stdout
}

async function workerd(url) {
  await build({
    entryPoints: [join(folder, 'worker.mjs')],
    outfile: join(folder, 'bundle.mjs'),
    bundle: true,
    format: 'esm',
    conditions: ['worker', 'browser'],
    logLevel: 'error',
  })
  const config = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (modules = [(name = "main", esModule = embed "bundle.mjs")], compatibilityDate = "2026-01-01", globalOutbound = "loopback")),
    (name = "loopback", network = (allow = ["private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")]
);
`
  await writeFile(join(folder, 'config.capnp'), config)
  const child = spawn(program('workerd'), ['serve', 'config.capnp', '--control-fd=3'], {
    cwd: folder,
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
  })
  try {
    const line = await new Promise((resolve, reject) => {
      child.stdio[3].once('data', resolve)
      child.once('close', () => reject(new Error('workerd did not start')))
    })
    const { port } = JSON.parse(line.toString().split('\n')[0])
    const answer = await fetch(`http://127.0.0.1:${port}/?node=${encodeURIComponent(url)}`, {
      signal: AbortSignal.timeout(60_000),
    })
    return await answer.text()
  } finally {
    child.kill()
  }
}
