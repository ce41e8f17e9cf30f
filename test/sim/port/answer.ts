import type { Address, Hex } from 'viem'
import type { RpcCall, RpcReply } from '../../../src/rpc/port.js'
import { ancestor, type SimBlock, type View } from '../chain/block.js'
import { createBuilder } from '../chain/blockInProgress.js'
import { gasNeeded, wouldRevert } from '../chain/execute.js'
import { nextBaseFee } from '../chain/options.js'
import type { SimChain } from '../chain/simChain.js'
import { accountIn, type State, storageKey, ZERO_WORD } from '../chain/state.js'
import { isTag, type Tag, type TagRule, taggedBlock } from '../chain/tags.js'
import { programOf } from '../program.js'
import { quantity, wireBlock, wireReceipts, wireTransaction } from './wire.js'

/** Answers one call as a node that shows `view`. Sends go to the chain itself, independent of the view. */
export function answer(chain: SimChain, view: View, { method, params }: RpcCall): RpcReply {
  const handler = HANDLERS[method]
  // geth rpc/errors.go, methodNotFoundError.
  if (handler === undefined) return error(-32601, `the method ${method} does not exist/is not available`)
  return handler(chain, view, params)
}

export function ok(result: unknown): RpcReply {
  return { ok: true, result }
}

export function error(code: number, message: string, data?: unknown): RpcReply {
  return {
    ok: false,
    failure: { kind: 'rpc', code, message, ...(data === undefined ? {} : { data }) },
  }
}

type Handler = (chain: SimChain, view: View, params: readonly unknown[]) => RpcReply

const HANDLERS: Readonly<Record<string, Handler>> = {
  eth_chainId: (chain) => ok(quantity(chain.settings.chainId)),
  net_version: (chain) => ok(String(chain.settings.chainId)),
  eth_blockNumber: (_, view) => ok(quantity(view.head.number)),
  eth_getBlockByNumber(chain, view, [selector, full]) {
    if (isTag(selector) && tagRule(chain, view, selector).kind === 'error') return noSuchTag(selector)
    const block = select(chain, view, selector)
    return ok(block === undefined ? null : wireBlock(block, full === true, chain.settings))
  },
  eth_getBlockByHash(chain, view, [hash, full]) {
    const block = find(view, (each) => each.hash === hash)
    return ok(block === undefined ? null : wireBlock(block, full === true, chain.settings))
  },
  eth_getTransactionCount(chain, view, [address, selector]) {
    const from = lower(address)
    if (selector === 'pending' && chain.settings.pending === 'mempool') {
      return ok(quantity(chain.pool.nextNonce(from, accountIn(view.head.state, from).nonce)))
    }
    return withState(chain, view, selector, (state) => ok(quantity(accountIn(state, from).nonce)))
  },
  eth_getBalance: (chain, view, [address, selector]) =>
    withState(chain, view, selector, (state) => ok(quantity(accountIn(state, lower(address)).balanceWei))),
  eth_getCode: (chain, view, [address, selector]) =>
    withState(chain, view, selector, (state) => ok(state.code.get(lower(address)) ?? '0x')),
  eth_getStorageAt: (chain, view, [address, slot, selector]) =>
    withState(chain, view, selector, (state) =>
      ok(state.storage.get(storageKey(lower(address), BigInt(slot as Hex))) ?? ZERO_WORD),
    ),
  eth_gasPrice: (chain, view) => ok(quantity(view.head.baseFeeWei + chain.settings.tipWei)),
  eth_maxPriorityFeePerGas: (chain) => ok(quantity(chain.settings.tipWei)),
  eth_estimateGas: estimate,
  eth_call(chain, view, [request, selector]) {
    const tx = callOf(request)
    return withState(chain, view, selector ?? 'latest', (state) =>
      wouldRevert(tx, storageOf(state)) ? REVERTED : ok('0x'),
    )
  },
  eth_simulateV1: simulate,
  eth_sendRawTransaction(chain, _view, [raw]) {
    const admission = chain.submit(String(raw))
    return admission.ok ? ok(admission.hash) : error(admission.code, admission.message)
  },
  eth_getTransactionReceipt(chain, view, [hash]) {
    const block = blockHolding(chain, view, hash)
    return ok(
      block === undefined
        ? null
        : (wireReceipts(block, chain.settings).find((receipt) => receipt.transactionHash === hash) ?? null),
    )
  },
  eth_getTransactionByHash(chain, view, [hash]) {
    const block = blockHolding(chain, view, hash)
    const index = block?.executed.findIndex(({ tx }) => tx.hash === hash) ?? -1
    const done = block?.executed[index]
    return ok(
      block === undefined || done === undefined ? null : wireTransaction(done, block, index, chain.settings),
    )
  },
  eth_getBlockReceipts(chain, view, [selector]) {
    const block = select(chain, view, selector)
    return ok(block === undefined ? null : wireReceipts(block, chain.settings))
  },
}

// geth answers a revert with code 3 and the revert data (internal/ethapi/errors.go).
const REVERTED = error(3, 'execution reverted', '0x')

function estimate(chain: SimChain, view: View, [request, selector]: readonly unknown[]): RpcReply {
  const tx = callOf(request)
  return withState(chain, view, selector ?? 'latest', (state) => {
    const { balanceWei } = accountIn(state, tx.from)
    if (tx.valueWei > balanceWei) {
      return error(-32000, `insufficient funds for transfer: address ${tx.from}`)
    }
    if (wouldRevert(tx, storageOf(state))) return REVERTED
    return ok(quantity(gasNeeded(tx)))
  })
}

/**
 * As in the spec of execution-apis, as far as a sender needs it: one block of calls, each on the state after
 * the earlier ones.
 */
function simulate(chain: SimChain, view: View, [payload, selector]: readonly unknown[]): RpcReply {
  const { blockStateCalls } = payload as { blockStateCalls: readonly { calls: readonly CallRequest[] }[] }
  return withState(chain, view, selector ?? 'latest', (state) => {
    const written = new Set<string>()
    const storage = (address: Address, slot: bigint): Hex =>
      written.has(storageKey(address, slot)) ? '0x1' : storageOf(state).storage(address, slot)
    const calls = (blockStateCalls[0]?.calls ?? []).map((request) => {
      const tx = callOf(request)
      const needed = gasNeeded(tx)
      const given = request.gas === undefined ? needed : Number(request.gas)
      const success = given >= needed && !wouldRevert(tx, { storage })
      const program = programOf(tx)
      if (success && tx.to !== null && program) written.add(storageKey(tx.to, BigInt(program.marker)))
      return { status: success ? '0x1' : '0x0', gasUsed: quantity(Math.min(given, needed)), returnData: '0x' }
    })
    return ok([{ calls }])
  })
}

function storageOf(state: State): { storage(address: Address, slot: bigint): Hex } {
  return { storage: (address, slot) => state.storage.get(storageKey(address, slot)) ?? ZERO_WORD }
}

type CallRequest = {
  readonly from?: string
  readonly to?: string | null
  readonly data?: Hex
  readonly input?: Hex
  readonly value?: Hex
  readonly gas?: Hex
  readonly authorizationList?: readonly unknown[]
}

function callOf(request: unknown) {
  const { from, to, data, input, value, authorizationList } = request as CallRequest
  return {
    from: lower(from ?? ''),
    to: to === undefined || to === null ? null : lower(to),
    data: data ?? input ?? ('0x' as Hex),
    valueWei: BigInt(value ?? '0x0'),
    authorizations: authorizationList?.length ?? 0,
  }
}

function lower(address: unknown): Address {
  return String(address).toLowerCase() as Address
}

// geth's message for a block without available state (internal/ethapi, headerNotFound).
const NO_HEADER = error(-32000, 'header not found')

function withState(
  chain: SimChain,
  view: View,
  selector: unknown,
  then: (state: State) => RpcReply,
): RpcReply {
  const block = select(chain, view, selector)
  return block === undefined ? NO_HEADER : then(block.state)
}

/** The block that a selector names on this view: a tag, a number in hex, or a hash (EIP-1898). */
function select(chain: SimChain, view: View, selector: unknown): SimBlock | undefined {
  const { head } = view
  switch (selector) {
    case undefined:
    case 'latest':
      return head
    case 'pending':
      return pendingOf(chain, view)
    case 'safe':
    case 'finalized':
      return taggedBlock(view, genesisMs(chain), tagRule(chain, view, selector))
    case 'earliest':
      return ancestor(head, 0)
  }
  if (typeof selector === 'object' && selector !== null) {
    const { blockHash, blockNumber } = selector as { blockHash?: Hex; blockNumber?: Hex }
    if (blockHash === undefined) return select(chain, view, blockNumber)
    return find(view, (block) => block.hash === blockHash)
  }
  return ancestor(head, Number(selector))
}

function tagRule({ settings }: SimChain, { tags }: View, tag: Tag): TagRule {
  const blocks = tag === 'safe' ? settings.safeDepth : settings.finalizedDepth
  return tags?.[tag] ?? { kind: 'depth', blocks }
}

const genesisMs = ({ canonical }: SimChain): number => canonical[0]?.timestampMs ?? 0

// geth eth/api_backend.go
const noSuchTag = (tag: Tag) => error(-32000, `${tag} block not found`)

function pendingOf(chain: SimChain, view: View): SimBlock {
  if (view.pending !== undefined) return view.pending
  return chain.settings.pending === 'latest' ? view.head : local(chain, view.head)
}

/** The pending block of geth and reth: built from their own pool, without any promise. */
function local(chain: SimChain, head: SimBlock): SimBlock {
  const { pool, settings } = chain
  const atMs = settings.clock.now()
  const known = head.words.local
  if (known?.version === pool.version) return known.block
  const builder = createBuilder(head, nextBaseFee(head.baseFeeWei, { ...settings, baseFeeNoise: 0 }))
  builder.fill(pool, settings.transactionsPerStepMax)
  const block: SimBlock = {
    number: head.number + 1,
    hash: `0x10ca${head.number.toString(16).padStart(30, '0')}${pool.version.toString(16).padStart(30, '0')}`,
    parent: head,
    sealed: false,
    timestampMs: atMs,
    baseFeeWei: builder.baseFeeWei,
    executed: builder.executed,
    adjustments: [],
    gasUsed: builder.gasUsed,
    state: builder.state(),
    words: {},
  }
  head.words.local = { version: pool.version, block }
  settings.onView({ atMs, head, pending: block })
  return block
}

/**
 * The block that holds a transaction: the one in progress if pre-confirmations are shown, else a sealed one.
 */
function blockHolding(chain: SimChain, view: View, hash: unknown): SimBlock | undefined {
  const holds = (block: SimBlock) => block.executed.some(({ tx }) => tx.hash === hash)
  if (view.pending !== undefined && holds(view.pending)) return view.pending
  return chain.settings.pending === 'preconfirmed' || view.head.number > 0 ? find(view, holds) : undefined
}

function find(view: View, matches: (block: SimBlock) => boolean): SimBlock | undefined {
  let block: SimBlock | undefined = view.head
  while (block !== undefined && !matches(block)) block = block.parent
  return block
}
