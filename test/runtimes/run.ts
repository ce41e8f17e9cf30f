import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import type { Hex } from 'viem'
import type { RuntimeName } from './install.js'

const TIMEOUT_MS = 60_000
const exec = promisify(execFile)

/** The folder of `installPackage`, the binary of the runtime, and the chain to send to. */
export type Subject = {
  readonly folder: string
  readonly binary: string
  readonly url: string
  readonly key: Hex
}

/** Runs the smoke program; resolves with its output, the statuses of five transactions. */
export const run: Readonly<Record<RuntimeName, (subject: Subject) => Promise<string>>> = {
  bun: (subject) => onStdout(subject, []),
  deno: (subject) =>
    onStdout(subject, ['run', '--no-remote', '--allow-net=127.0.0.1', '--allow-read', '--allow-env']),
  workerd: onWorkerd,
}

async function onStdout({ folder, binary, url, key }: Subject, args: readonly string[]): Promise<string> {
  const { stdout } = await exec(binary, [...args, join(folder, 'stdout.mjs'), url, key], {
    cwd: folder,
    timeout: TIMEOUT_MS,
  })
  return stdout.trim()
}

// A worker has no dynamic import, so the engine is bundled into one file. The worker's requests to the chain leave
// through `loopback`, because workerd denies private addresses by default.
const CONFIG = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (
      modules = [(name = "main", esModule = embed "bundle.mjs")],
      compatibilityDate = "2026-01-01",
      globalOutbound = "loopback"
    )),
    (name = "loopback", network = (allow = ["private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")]
);
`

async function onWorkerd({ folder, binary, url, key }: Subject): Promise<string> {
  await build({
    absWorkingDir: folder,
    entryPoints: ['worker.mjs'],
    outfile: 'bundle.mjs',
    bundle: true,
    format: 'esm',
    conditions: ['worker', 'browser'],
    logLevel: 'error',
  })
  await writeFile(join(folder, 'config.capnp'), CONFIG)
  const child = spawn(binary, ['serve', 'config.capnp', '--control-fd=3'], {
    cwd: folder,
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
  })
  try {
    const control = child.stdio[3] as Readable
    const closed = once(child, 'close').then(() => Promise.reject(new Error('workerd did not start')))
    const [line] = (await Promise.race([once(control, 'data'), closed])) as [Buffer]
    closed.catch(() => {})
    const { port } = JSON.parse(line.toString().split('\n')[0] ?? '') as { port: number }
    const query = new URLSearchParams({ node: url, key })
    const answer = await fetch(`http://127.0.0.1:${port}/?${query}`, {
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    return (await answer.text()).trim()
  } finally {
    child.kill()
  }
}
