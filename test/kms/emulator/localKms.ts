import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../../src/platform/clock.js'
import { nodesFolder } from '../../nodes/find/nodesFolder.js'
import { buildWithGo } from '../../support/buildWithGo.js'
import { freePort } from '../../support/freePort.js'
import { pause } from '../../support/pause.js'

/** The message if there is none. */
export const NO_LOCAL_KMS =
  'there is no local-kms in TXLANE_LOCAL_KMS or in the cache; `npm run kms` builds one with Go'

// An emulator of AWS KMS that signs with secp256k1 keys. None of its tags is a version for Go.
const VERSION = 'v0.0.0-20260228092603-2a5e92d09ab6'
const MODULE = `github.com/nsmithuk/local-kms@${VERSION}`
const BINARY = process.platform === 'win32' ? 'local-kms.exe' : 'local-kms'
const START_TIMEOUT_MS = 30_000

const cached = (env?: NodeJS.ProcessEnv) => join(nodesFolder(env), `local-kms-${VERSION}`, BINARY)

/** The emulator of `TXLANE_LOCAL_KMS`, else the one that was built on this machine before. Never builds. */
export function findLocalKms(env: NodeJS.ProcessEnv = process.env): string | undefined {
  return [env.TXLANE_LOCAL_KMS, cached(env)].find((file) => file !== undefined && existsSync(file))
}

/** @throws Error with the output of `go`, or saying that Go is not installed */
export function buildLocalKms(): Promise<string> {
  return buildWithGo('local-kms', MODULE, cached())
}

/** Starts it on a free loopback port, without keys. */
export async function startLocalKms(file: string): Promise<AsyncDisposable & { readonly url: string }> {
  const port = await freePort()
  const folder = await mkdtemp(join(tmpdir(), 'txlane-kms-'))
  const env = { ...process.env, PORT: `${port}`, KMS_DATA_PATH: folder, KMS_SEED_PATH: join(folder, 'none') }
  const child = spawn(file, [], { cwd: folder, env, stdio: 'ignore' })
  const end = () => void child.kill('SIGKILL')
  process.once('exit', end)
  child.once('exit', () => process.removeListener('exit', end))
  const url = `http://127.0.0.1:${port}`
  await answers(child, url)
  return {
    url,
    async [Symbol.asyncDispose]() {
      const exit = once(child, 'exit')
      child.kill('SIGKILL')
      await exit
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function answers(child: ChildProcess, url: string): Promise<void> {
  for (const until = systemClock.now() + START_TIMEOUT_MS; ; await pause(50)) {
    if (child.exitCode !== null || child.signalCode !== null || systemClock.now() > until)
      throw new Error('The emulator did not start.')
    if (
      await fetch(url).then(
        () => true,
        () => false,
      )
    )
      return
  }
}
