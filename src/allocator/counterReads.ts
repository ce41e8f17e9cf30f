import type { Hex } from 'viem'
import { invalid } from '../errors/invalid.js'
import { batchReads } from '../rpc/batchReads.js'
import { decodeWord } from '../rpc/codec.js'
import { malformed, resultOf } from '../rpc/errors.js'
import type { Port, RpcCall, RpcReply } from '../rpc/port.js'
import type { ProfileWatch } from '../rpc/profile.js'
import type { NonceGetter, NonceSource } from './sources.js'

/** Where a counter stands. `pending` is `latest` where the endpoint shows no more. */
export type CounterReading = { readonly latest: bigint; readonly pending: bigint }

/** What to ask in one request, and what the replies say. */
export type CounterRequest = {
  readonly calls: readonly RpcCall[]
  /**
   * Undefined where the slot and the getter differ for the first time: a block may have come between the two.
   *
   * @throws a typed error where `latest` was not answered; `INVALID` where the slot is not the counter's
   */
  read(replies: readonly (RpcReply | undefined)[]): CounterReading | undefined
}

export type CounterReads = {
  request(): CounterRequest
  /**
   * Asks by itself, again where `take` could make nothing of it. The first time it finds the getter that the contract
   * answers.
   */
  look(take: (replies: readonly RpcReply[], request: CounterRequest) => boolean): Promise<void>
}

const STORAGE = 'eth_getStorageAt'
const CALL = 'eth_call'

/** Reads a counter in a contract: its slot, and the contract's own word where the slot cannot be trusted. */
export function createCounterReads(options: {
  source: NonceSource<number | bigint>
  /** The endpoint that is read now: looked up for each request, since another may take its place. */
  reader: () => { readonly port: Port; readonly profile: ProfileWatch }
  /** An endpoint that has strayed to another chain since it was probed has something at that place as well. */
  chainId: number
  timeoutMs: number
}): CounterReads {
  const { source, reader, chainId, timeoutMs } = options
  const { address, slot } = source.counter!
  let getter: NonceGetter | undefined
  // A slot that was never written holds the same 0 as a counter that never moved: 0 proves nothing.
  let proven = source.getters.length === 0
  let differed = false

  const stored = (block: string): RpcCall => ({ method: STORAGE, params: [address, slot, block] })
  const asked = ({ data }: NonceGetter, block: string): RpcCall => ({
    method: CALL,
    params: [{ to: address, data }, block],
  })

  function request(): CounterRequest {
    const { profile } = reader()
    const { pending, pendingState } = profile.current()
    const flat = pending === 'latest' || pending === 'absent'
    const parts = {
      latest: stored('latest'),
      word: getter && !proven && asked(getter, 'latest'),
      told: getter && !flat && pendingState !== true && asked(getter, 'pending'),
      // After the getter: a block that comes between the two can only make this one higher.
      shown: !flat && !(getter && pendingState === false) && stored('pending'),
    }
    const names = (Object.keys(parts) as (keyof typeof parts)[]).filter((name) => parts[name])
    return {
      calls: names.map((name) => parts[name] as RpcCall),
      read(replies) {
        const by = Object.fromEntries(names.map((name, at) => [name, replies[at]]))
        const latest = countIn(by.latest)
        if (parts.word && getter && !agree(latest, getter.decode(wordIn(by.word)))) return undefined
        // A node that does not answer for `pending` shows none.
        const told = by.told?.ok && getter ? getter.decode(wordIn(by.told)) : latest
        const shown = by.shown?.ok ? countIn(by.shown) : latest
        if (by.told?.ok && by.shown?.ok && (told > latest || shown > latest))
          profile.observe({ kind: 'pendingState', usable: shown >= told })
        return { latest, pending: told > shown ? told : shown }
      },
    }
  }

  /** True where slot and getter say the same. @throws `INVALID` the second time that they do not */
  function agree(held: bigint, counted: bigint): boolean {
    if (held === counted) {
      proven = held > 0n
      differed = false
      return true
    }
    if (differed) throw invalid('source', `a slot that holds ${held}`, `the contract's counter, ${counted}`)
    differed = true
    return false
  }

  function countIn(reply: RpcReply | undefined): bigint {
    const count = source.decode(decodeWord(resultOf(STORAGE, reply), STORAGE))
    if (typeof count === 'bigint' && count >= 0n) return count
    throw invalid('source.decode', count, 'a function that returns a bigint')
  }

  function ask(calls: readonly RpcCall[]) {
    return batchReads(reader().port, calls, { chainId, timeoutMs })
  }

  async function look(
    take: (replies: readonly RpcReply[], request: CounterRequest) => boolean,
  ): Promise<void> {
    if (!proven) getter ??= await findGetter()
    let taken = false
    while (!taken) {
      const asked = request()
      taken = take(await ask(asked.calls), asked)
    }
  }

  async function findGetter(): Promise<NonceGetter> {
    const replies = await ask(source.getters.map((each) => asked(each, 'latest')))
    const found = source.getters.find((_, at) => isWord(replies[at]))
    if (found) return found
    // A revert, or nothing where there is no code, is an answer; anything else says nothing of the contract.
    for (const reply of replies) if (!isRevert(reply)) resultOf(CALL, reply)
    throw invalid('source', address, `a contract with the getter of a ${source.kind} source`)
  }

  return { request, look }
}

function isWord(reply: RpcReply | undefined): boolean {
  return reply?.ok === true && /^0x[0-9a-f]{64}/i.test(`${reply.result}`)
}

// geth and reth answer 3, others codes of their own with one of these words.
function isRevert(reply: RpcReply): boolean {
  if (reply.ok || reply.failure.kind !== 'rpc') return false
  return reply.failure.code === 3 || /revert|opcode|execution/i.test(reply.failure.message)
}

/** The first 32 bytes of what a call returned. */
function wordIn(reply: RpcReply | undefined): Hex {
  const result = resultOf(CALL, reply)
  if (isWord(reply)) return (result as string).slice(0, 66) as Hex
  throw malformed(CALL, 'no 32 bytes')
}
