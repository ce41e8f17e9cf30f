import { Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import { fetchDispatcher } from '../../src/rpc/transports/dispatch.js'

const SEND = 'eth_sendRawTransaction'

export type SendWatch = {
  forget(): void
  /** Time at which a raw transaction was first handed to the HTTP client. @throws Error if none was */
  handedAt(): number
  /** Time at which one was first written to a socket. @throws Error if none was */
  writtenAt(): number
}

type Call = (this: unknown, ...parameters: unknown[]) => unknown

/**
 * Watches the sends of any library from now on. `fetch` is only watched for libraries that send with it,
 * because txlane would notice a replaced `fetch`.
 */
export function watchSends({ byFetch }: { readonly byFetch: boolean }): SendWatch {
  let handed: number | undefined
  let written: number | undefined
  const hand = (body: unknown) => {
    if (textOf(body).includes(SEND)) handed ??= performance.now()
  }
  if (byFetch) watch(globalThis, 'fetch', ([, init]) => hand((init as RequestInit | undefined)?.body))
  else watch(dispatcherOf(), 'dispatch', ([request]) => hand((request as { body?: unknown }).body))
  watch(Socket.prototype, 'write', ([bytes]) => {
    if (textOf(bytes).includes(SEND)) written ??= performance.now()
  })
  return {
    forget() {
      handed = undefined
      written = undefined
    },
    handedAt: () => known(handed, 'handed over'),
    writtenAt: () => known(written, 'written'),
  }
}

function dispatcherOf(): object {
  const dispatcher = fetchDispatcher()
  if (dispatcher === undefined) throw new Error('no request was fetched yet')
  return dispatcher
}

function watch(owner: object, name: string, see: (parameters: unknown[]) => void): void {
  const real = Reflect.get(owner, name) as Call
  const watched: Call = function (...parameters) {
    see(parameters)
    return real.apply(this, parameters)
  }
  Reflect.set(owner, name, watched)
}

function textOf(bytes: unknown): string {
  if (bytes instanceof Uint8Array)
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
  return typeof bytes === 'string' ? bytes : ''
}

function known(at: number | undefined, what: string): number {
  if (at === undefined) throw new Error(`no raw transaction was ${what}`)
  return at
}
