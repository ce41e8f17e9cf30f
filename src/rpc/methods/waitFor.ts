import type { Address, Hex } from 'viem'
import { isTxlaneError } from '../../errors/base.js'
import { invalid } from '../../errors/invalid.js'
import { type Clock, systemClock } from '../../platform/clock.js'
import { onAbort } from '../../platform/onAbort.js'
import { type BlockSelectorTag, decodeHash, encodeBlock } from '../codec.js'
import { aborted, waitTimeout } from '../errors.js'
import { checkMs, encodeAddress, encodeSlot, type SlotPosition } from './arguments.js'
import { poll } from './poll.js'
import type { ReadSource } from './source.js'
import { getCode, getStorageAt } from './state.js'

export type WaitForOptions = {
  /** The tag to look at. @default 'pending' */
  readonly block?: BlockSelectorTag | undefined
  /** Milliseconds until it gives up. @default 30,000 */
  readonly timeoutMs?: number | undefined
  /** Milliseconds from the start of one look to the start of the next. @default 200 */
  readonly pollingIntervalMs?: number | undefined
  readonly signal?: AbortSignal | undefined
  /** @default the machine's clock */
  readonly clock?: Clock | undefined
}

export type WaitForCodeParameters = WaitForOptions & { readonly address: Address }

export type WaitForStorageParameters = WaitForOptions & {
  readonly address: Address
  readonly slot: SlotPosition
  /** What the slot must hold: the 32 bytes, or a test of them. */
  readonly value: Hex | ((value: Hex) => boolean)
}

/** Described in `public.ts`. */
export async function waitForCode(source: ReadSource, parameters: WaitForCodeParameters): Promise<Hex> {
  const address = encodeAddress(parameters.address)
  const block = tagOf(parameters)
  return waitFor(`code at ${address}`, parameters, async (signal) => {
    const code = await getCode(source, { address, block, signal })
    return code === '0x' ? undefined : code
  })
}

/** Described in `public.ts`. */
export async function waitForStorage(source: ReadSource, parameters: WaitForStorageParameters): Promise<Hex> {
  const address = encodeAddress(parameters.address)
  const slot = encodeSlot(parameters.slot)
  const block = tagOf(parameters)
  const isWanted = wantedOf(parameters.value)
  return waitFor(`storage slot ${slot} of ${address}`, parameters, async (signal) => {
    const value = await getStorageAt(source, { address, slot, block, signal })
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

/** Looks until there is something. What is not a failed read (a test that throws, a method not offered) ends it. */
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
