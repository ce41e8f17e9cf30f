import type { Address, Chain, Hex } from 'viem'
import { isTxlaneError } from '../../errors/base.js'
import { invalid } from '../../errors/invalid.js'
import { type CancelTimer, type Clock, systemClock } from '../../platform/clock.js'
import { onAbort } from '../../platform/onAbort.js'
import {
  type BlockSelectorTag,
  decodeHash,
  decodeHeader,
  encodeBlock,
  headerCall,
  type LightHeader,
  sameContents,
} from '../codec.js'
import { aborted, rpcError, waitTimeout } from '../errors.js'
import { call } from '../port.js'
import { checkGetter, checkMs, encodeAddress, encodeSlot, type SlotPosition } from './arguments.js'
import { type Block, decodeBlock } from './getBlockByNumber.js'
import { firstAnswer, formattersOf, type ReadSource, readPorts } from './source.js'
import { readPlace } from './state.js'

type WaitForOptions = {
  /** The block tag to read. @default 'pending' */
  readonly block?: BlockSelectorTag | undefined
  /** Milliseconds after which the wait rejects with `WAIT_TIMEOUT`. @default 30,000 */
  readonly timeoutMs?: number | undefined
  /** Milliseconds from the start of one poll to the start of the next. @default 200 */
  readonly pollingIntervalMs?: number | undefined
  readonly signal?: AbortSignal | undefined
  /** @default the machine's clock */
  readonly clock?: Clock | undefined
}

export type WaitForCodeParameters = WaitForOptions & { readonly address: Address }

export type WaitForStorageParameters = WaitForOptions & {
  readonly address: Address
  readonly slot: SlotPosition
  /** The awaited value of the slot: the 32 bytes, or a test of them. */
  readonly value: Hex | ((value: Hex) => boolean)
  /**
   * The calldata of a view function of the contract that returns the 32 bytes of the slot. It is called where the
   * endpoint does not show storage at `pending`; Base's flashblocks RPC shows pre-confirmed storage in no other way.
   * @default none: the slot is read by an override of code
   */
  readonly getter?: Hex | undefined
}

/** Documented in `public.ts`. */
export async function waitForCode(source: ReadSource, parameters: WaitForCodeParameters): Promise<Hex> {
  const address = encodeAddress(parameters.address)
  const block = tagOf(parameters)
  return waitFor(`code at ${address}`, parameters, async (signal) => {
    const code = await readPlace(source, { address }, block, { signal, compares: true })
    return code === '0x' ? undefined : code
  })
}

/** Documented in `public.ts`. */
export async function waitForStorage(source: ReadSource, parameters: WaitForStorageParameters): Promise<Hex> {
  const address = encodeAddress(parameters.address)
  const slot = encodeSlot(parameters.slot)
  const block = tagOf(parameters)
  const isWanted = wantedOf(parameters.value)
  const getter = checkGetter(parameters.getter)
  return waitFor(`storage slot ${slot} of ${address}`, parameters, async (signal) => {
    const value = await readPlace(source, { address, slot, getter }, block, { signal, compares: true })
    return isWanted(value) ? value : undefined
  })
}

function tagOf({ block = 'pending' }: WaitForOptions): BlockSelectorTag {
  return encodeBlock(block) as BlockSelectorTag
}

function wantedOf(value: WaitForStorageParameters['value']): (value: Hex) => boolean {
  if (typeof value === 'function') return value
  try {
    const wanted = decodeHash(value, '')
    return (seen) => seen === wanted
  } catch {
    throw invalid('value', value, '32 bytes of hex, or a function')
  }
}

/**
 * Polls until there is a value. Any other error than a failed read (an error of the test, an unsupported
 * method) ends the wait.
 */
function waitFor(
  what: string,
  { timeoutMs = 30_000, pollingIntervalMs = 200, signal, clock = systemClock }: WaitForOptions,
  look: (signal: AbortSignal) => Promise<Hex | undefined>,
): Promise<Hex> {
  checkMs(timeoutMs, 'timeoutMs')
  checkMs(pollingIntervalMs, 'pollingIntervalMs')
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(aborted(`waiting for ${what}`, 'inFlight', signal))
    let lastError: unknown
    const end = (settle: () => void) => {
      stop()
      cancelTimer()
      off?.()
      settle()
    }
    const abort = () => end(() => reject(aborted(`waiting for ${what}`, 'inFlight', signal!)))
    const cancelTimer = clock.setTimer(
      () => end(() => reject(waitTimeout(what, timeoutMs, lastError))),
      timeoutMs,
    )
    const off = signal && onAbort(signal, abort)
    const stop = poll(clock, pollingIntervalMs, async (stopped) => {
      try {
        const found = await look(stopped)
        if (!stopped.aborted && found !== undefined) end(() => resolve(found))
      } catch (error) {
        lastError = error
        if (!stopped.aborted && !mayPass(error)) end(() => reject(error))
      }
    })
  })
}

function mayPass(error: unknown): boolean {
  return isTxlaneError(error) && error.code !== 'INVALID' && error.code !== 'UNSUPPORTED'
}

export type WatchPendingParameters<chain extends Chain | undefined = undefined> = {
  /** Called with the pending block, with transactions as hashes, each time its contents changed. */
  readonly onBlock: (block: Block<false, chain>) => void
  /**
   * Called for each failed poll, and with each error of `onBlock`. The polling continues. @default ignored
   */
  readonly onError?: ((error: unknown) => void) | undefined
  /** Milliseconds from the start of one poll to the start of the next. @default 200 */
  readonly intervalMs?: number | undefined
  /** Stops the polling, as the returned function does. */
  readonly signal?: AbortSignal | undefined
  /** @default the machine's clock */
  readonly clock?: Clock | undefined
}

const METHOD = 'eth_getBlockByNumber'

/** Documented in `public.ts`. */
export function watchPending<chain extends Chain | undefined>(
  source: ReadSource<chain>,
  parameters: WatchPendingParameters<chain>,
): () => void {
  const { onBlock, onError, intervalMs = 200, signal, clock = systemClock } = parameters
  checkMs(intervalMs, 'intervalMs')
  const ports = readPorts(source, { clock })
  let last: LightHeader | undefined

  async function tick(stopped: AbortSignal): Promise<void> {
    try {
      const result = await firstAnswer(ports, stopped, async (port) => {
        const { method, params } = headerCall('pending')
        const reply = await call(port, method, params, { signal: stopped })
        if (!reply.ok) throw rpcError(METHOD, reply.failure)
        return { header: decodeHeader(reply.result), raw: reply.result }
      })
      if (stopped.aborted || result.header === null) return
      if (last !== undefined && sameContents(last, result.header)) return
      last = result.header
      onBlock(decodeBlock<false, chain>(result.raw, METHOD, false, formattersOf(source)))
    } catch (error) {
      if (!stopped.aborted) onError?.(error)
    }
  }

  if (signal?.aborted) return () => {}
  const stopPolling = poll(clock, intervalMs, tick)
  const stop = () => {
    stopPolling()
    off?.()
  }
  const off = signal && onAbort(signal, stop)
  return stop
}

/**
 * Runs `tick` now and then every `intervalMs`, measured from start to start, and never twice at once. A tick
 * that takes longer is followed by the next one at once. `tick` must not reject. The returned function stops
 * the polling, and aborts the running tick.
 */
function poll(clock: Clock, intervalMs: number, tick: (signal: AbortSignal) => Promise<void>): () => void {
  const controller = new AbortController()
  let cancelTimer: CancelTimer | undefined

  async function run(): Promise<void> {
    const startedAtMs = clock.now()
    await tick(controller.signal)
    if (controller.signal.aborted) return
    // The clock may be the wall clock, which may jump either way.
    const elapsedMs = Math.min(Math.max(0, clock.now() - startedAtMs), intervalMs)
    cancelTimer = clock.setTimer(() => void run(), intervalMs - elapsedMs)
  }

  void run()
  return () => {
    controller.abort()
    cancelTimer?.()
  }
}
