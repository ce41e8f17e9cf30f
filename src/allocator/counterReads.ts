import type { Address, Hex } from 'viem'
import { invalid } from '../errors/invalid.js'
import { batchReads } from '../rpc/batchReads.js'
import { decodeWord } from '../rpc/codec.js'
import { malformed, resultOf } from '../rpc/errors.js'
import {
  pendingStateRequest,
  plainRead,
  readPlain,
  readStateCall,
  stateCall,
} from '../rpc/methods/pendingState.js'
import type { Port, RpcCall, RpcReply } from '../rpc/port.js'
import type { ProfileWatch } from '../rpc/profile.js'
import type { NonceGetter, NonceSource } from './sources.js'

/** The value of a counter. `pending` equals `latest` if the endpoint does not show a pending value. */
export type CounterReading = { readonly latest: bigint; readonly pending: bigint }

/** The calls of one request, and the decoder of its replies. */
export type NonceRequest<reading> = {
  readonly calls: readonly RpcCall[]
  /**
   * Undefined if the slot and the getter differ for the first time: a block may have come between the two
   * calls.
   *
   * @throws a typed error if `latest` was not answered; `INVALID` if the slot is not that of the counter
   */
  read(replies: readonly (RpcReply | undefined)[]): reading | undefined
}

export type CounterRequest = NonceRequest<CounterReading>
export type CounterReads = NonceReads<CounterReading>

/** How the chain shows which nonces of a source are used. */
export type NonceReads<reading> = {
  request(): NonceRequest<reading>
  /**
   * Sends a request of its own, and repeats it until `take` returns true. The first time it finds the getter
   * that the contract answers.
   *
   * @param withCode reads the code of the contract too. @throws `INVALID` if there is none at `latest` or `pending`
   */
  readUntil(
    take: (replies: readonly RpcReply[], request: NonceRequest<reading>) => boolean,
    withCode?: boolean,
  ): Promise<void>
}

const STORAGE = 'eth_getStorageAt'
const CALL = 'eth_call'

export type NonceReadsOptions = {
  source: NonceSource<number | bigint>
  /**
   * The endpoint that is read now. It is looked up for each request, since another endpoint may replace it.
   */
  reader: () => { readonly port: Port; readonly profile: ProfileWatch }
  /** An endpoint that moved to another chain after it was probed has a value at that address as well. */
  chainId: number
  timeoutMs: number
  signal?: AbortSignal | undefined
}

/** Reads a counter in a contract: its slot, and the contract's getter if the slot is not trusted yet. */
export function createCounterReads(options: NonceReadsOptions): CounterReads {
  const { source, reader, chainId, timeoutMs, signal } = options
  const { address, slot } = source.counter!
  let getter: NonceGetter | undefined
  // A slot that was never written holds the same 0 as a counter that never moved: 0 proves nothing.
  let proven = source.getters.length === 0
  let differed = false

  const stored = (block: string): RpcCall => plainRead({ address, slot }, block)
  const asked = ({ data }: NonceGetter, block: string): RpcCall => ({
    method: CALL,
    params: [{ to: address, data }, block],
  })

  function request(): CounterRequest {
    const { profile } = reader()
    const { pending, pendingState } = profile.current()
    const flat = pending === 'latest' || pending === 'absent'
    const called = getter ? asked(getter, 'pending') : stateCall({ address, slot }, 'pending')
    const parts = {
      latest: stored('latest'),
      word: getter && !proven && asked(getter, 'latest'),
      reported: !flat && pendingState !== true && called,
      // After the getter: a block that comes between the two can only make this value higher.
      shown: !flat && !(getter && pendingState === false) && stored('pending'),
    }
    const names = (Object.keys(parts) as (keyof typeof parts)[]).filter((name) => parts[name])
    return {
      calls: names.map((name) => parts[name] as RpcCall),
      read(replies) {
        const by = Object.fromEntries(names.map((name, at) => [name, replies[at]]))
        const latest = countIn(by.latest)
        if (parts.word && getter && !agree(latest, getter.decode(wordIn(by.word)))) return undefined
        // A node that does not answer for `pending` shows no pending value.
        const returned = (by.reported?.ok ? reportedBy(source, getter, by.reported) : undefined) ?? latest
        const shown = by.shown?.ok ? countIn(by.shown) : latest
        if (by.reported?.ok && by.shown?.ok && (returned > latest || shown > latest))
          profile.observe({ kind: 'pendingState', usable: shown >= returned })
        return { latest, pending: returned > shown ? returned : shown }
      },
    }
  }

  /** True if slot and getter agree. @throws `INVALID` if they differ for the second time */
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
    return batchReads(reader().port, calls, { chainId, timeoutMs, signal })
  }

  async function readUntil(
    take: (replies: readonly RpcReply[], request: CounterRequest) => boolean,
    withCode = false,
  ): Promise<void> {
    if (!proven) getter ??= await findGetter()
    let taken = false
    while (!taken) {
      const asked = request()
      const code = withCode ? codeRequest(source, address, reader().profile) : undefined
      const replies = await ask([...asked.calls, ...(code?.calls ?? [])])
      code?.check(replies.slice(asked.calls.length))
      taken = take(replies.slice(0, asked.calls.length), asked)
    }
  }

  async function findGetter(): Promise<NonceGetter> {
    const replies = await ask(source.getters.map((each) => asked(each, 'latest')))
    const found = source.getters.find((_, at) => isWord(replies[at]))
    if (found) return found
    // A revert, or an empty result without code, is an answer. Any other failure proves nothing about the
    // contract.
    for (const reply of replies) if (!isRevert(reply)) resultOf(CALL, reply)
    throw invalid('source', address, `a contract with the getter of a ${source.kind} source`)
  }

  return { request, readUntil }
}

/** The count by a call. Undefined if the node does not support overrides, without which nothing is read so. */
function reportedBy(
  source: NonceSource<number | bigint>,
  getter: NonceGetter | undefined,
  reply: RpcReply,
): bigint | undefined {
  if (getter) return getter.decode(wordIn(reply))
  try {
    return source.decode(readStateCall(source.counter!, reply))
  } catch {
    return undefined
  }
}

/** The code of the contract at `latest` and at `pending`. A slot without a contract holds 0 for ever. */
function codeRequest({ kind }: NonceSource<number | bigint>, address: Address, profile: ProfileWatch) {
  const state = pendingStateRequest(profile, [{ address }], true)
  return {
    calls: [plainRead({ address }, 'latest'), ...state.calls],
    check([latest, ...pending]: readonly RpcReply[]): void {
      if (readPlain({ address }, latest) !== '0x') return
      const isAnswered = state.plain(pending).every((reply) => reply?.ok)
      if (isAnswered && state.read(pending)[0] === '0x')
        throw invalid('source', address, `a contract with the counter of a ${kind} source`)
    },
  }
}

function isWord(reply: RpcReply | undefined): boolean {
  return reply?.ok === true && /^0x[0-9a-f]{64}/i.test(`${reply.result}`)
}

// geth and reth answer 3, other nodes have their own codes with one of these words.
function isRevert(reply: RpcReply): boolean {
  if (reply.ok || reply.failure.kind !== 'rpc') return false
  return reply.failure.code === 3 || /revert|opcode|execution/i.test(reply.failure.message)
}

/** The first 32 bytes of a call's result. */
function wordIn(reply: RpcReply | undefined): Hex {
  const result = resultOf(CALL, reply)
  if (isWord(reply)) return (result as string).slice(0, 66) as Hex
  throw malformed(CALL, 'no 32 bytes')
}
