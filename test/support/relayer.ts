import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Hex } from 'viem'

/** A caller in the callers file of examples/relayer. */
export type CallerEntry = {
  readonly name: string
  readonly keys: readonly string[]
  readonly targets?: readonly string[]
  readonly valueMax?: string
  readonly gasMax?: string
  readonly requestsPerSecond?: number
  readonly weight?: number
  readonly webhook?: { readonly url: string; readonly secret: string }
}

/** The files that examples/relayer reads, in a temporary folder. */
export type RelayerFiles = AsyncDisposable & {
  readonly environment: { readonly CALLERS_FILE: string; readonly KEYS_FILE: string }
  writeCallers(callers: readonly CallerEntry[]): Promise<void>
  writeKeys(keys: readonly string[]): Promise<void>
}

export async function relayerFiles(): Promise<RelayerFiles> {
  const folder = await mkdtemp(join(tmpdir(), 'txlane-relayer-'))
  const environment = { CALLERS_FILE: join(folder, 'callers.json'), KEYS_FILE: join(folder, 'keys.txt') }
  return {
    environment,
    writeCallers: (callers) => writeFile(environment.CALLERS_FILE, JSON.stringify(callers)),
    writeKeys: (keys) => writeFile(environment.KEYS_FILE, `# The keys that send.\n${keys.join('\n')}\n`),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

/** The digest as the file holds it, in place of the token. */
export function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

/** An answer of examples/relayer. */
export type RelayerAnswer = {
  readonly status: number
  readonly headers: Headers
  readonly body: {
    readonly id?: string
    readonly stage?: string
    readonly status?: string
    readonly hash?: Hex
    readonly nonce?: number
    readonly from?: Hex
    readonly code?: string
    readonly fate?: string
    readonly error?: unknown
    readonly items?: readonly { readonly id: string; readonly stage: string; readonly hash?: Hex }[]
    readonly cursor?: string
  }
}

/** Makes one request, without retries. A text is posted unchanged. @throws if there is no answer */
export async function askRelayer(
  url: string,
  token: string | undefined,
  path: string,
  post?: { readonly body?: object | string; readonly key?: string },
): Promise<RelayerAnswer> {
  const response = await fetch(`${url}${path}`, {
    ...(post && { method: 'POST' }),
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(post?.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(post?.key === undefined ? {} : { 'idempotency-key': post.key }),
    },
    ...(post?.body === undefined
      ? {}
      : { body: typeof post.body === 'string' ? post.body : JSON.stringify(post.body) }),
  })
  const body = (await response.json()) as RelayerAnswer['body']
  return { status: response.status, headers: response.headers, body }
}
