import type { Account, Chain, Client, LocalAccount, Transport } from 'viem'
import type { Environment } from '../chain/environment.js'
import { TxlaneError } from '../errors/base.js'
import { checkNames } from '../errors/checkNames.js'
import { invalid } from '../errors/invalid.js'
import { safeError } from '../errors/redactError.js'
import { withChange } from '../lane/session/feeSettings.js'
import type { FeeChange, LaneOptions, Logger, Sender, Store } from '../types/index.js'
import { LANE_OPTIONS } from '../validate/names.js'
import { ownFees } from '../validate/own.js'
import { object } from '../validate/validate.js'
import { checkFeeChange } from '../validate/validateFees.js'
import { checkAccount, checkLaneOptions } from '../validate/validateLane.js'
import { createLazyMember, type LazyMember, type Maker } from './lazyMember.js'
import { checkAccounts, createPool, type SenderPool } from './pool/pool.js'
import { createMemberIn } from './sender/sender.js'
import { systemEnvironment } from './systemEnvironment.js'

/** A chain of `createLanes`: its client, and the options of every lane on it. */
export type LanesChain = LaneOptions<Chain> & {
  /** A viem client of the chain. Its transport is the first endpoint; its account, if any, is not used. */
  client: Client<Transport, Chain>
}

type ChainOf<chains extends readonly LanesChain[]> = chains[number]['client']['chain']

/** Senders and pools on several chains, made by `createLanes`. */
export interface Lanes<chains extends readonly LanesChain[] = readonly LanesChain[]> {
  /**
   * The sender of an account on a chain. It is made on first use; later calls return the same sender until it is
   * closed.
   *
   * @throws TxlaneError `INVALID` if the account or the chain id cannot be used; `CLOSED` after `close`
   */
  sender<id extends ChainOf<chains>['id']>(options: {
    chainId: id
    account: LocalAccount
  }): Sender<Extract<ChainOf<chains>, { id: id }>>
  /** Several accounts on a chain behind one sender. The pool uses the same lanes as `sender` for these accounts. */
  pool<id extends ChainOf<chains>['id']>(options: {
    chainId: id
    accounts: readonly LocalAccount[]
  }): SenderPool<Extract<ChainOf<chains>, { id: id }>>
  /**
   * `setFees` of a sender for every account of a chain, including accounts that are first used later. A fee budget
   * applies to each account separately.
   *
   * @throws TxlaneError `INVALID` at once, if the fees or the chain id cannot be used; `CLOSED` after `close`
   */
  setFees(options: { chainId: ChainOf<chains>['id'] } & FeeChange): void
  /** Closes every sender that was made. Resolves when all of them have closed. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** The parameters of `createLanes`. */
export type LanesParameters<chains extends readonly LanesChain[]> = {
  /** One entry for each chain id. Options of an entry take precedence over the options beside `chains`. */
  chains: chains
  /** The store of every chain whose entry has none; see the options of a sender. */
  store?: Store | undefined
  /** The logger of every chain whose entry has none; see the options of a sender. */
  logger?: Logger | false | undefined
  /**
   * Called once with each sender, when it is made and before it does any work: the place to `instrument` the sender, to
   * record it, or to add listeners. It is also called for the members of a pool. If it returns a function, that
   * function is called when the sender has closed. An error that one of the two throws is logged and has no other
   * effect.
   *
   * @example
   * const lanes = createLanes({
   *   chains: [{ client: baseClient }],
   *   onSender: (sender) => sender.on('error', ({ error }) => console.error(sender.address, error)),
   * })
   */
  onSender?: ((sender: Sender) => unknown) | undefined
}

/**
 * Senders for many accounts on many chains. Each sender is made on first use and then reused, so that a service can
 * call `sender` for every request at almost no cost.
 *
 * Not guaranteed: that idle senders are released. The sender of each account that was requested stays until `close`.
 * An idle sender has no timers and sends no requests to a node.
 *
 * @throws TxlaneError `INVALID` at once, if the options cannot work
 * @example
 * const lanes = createLanes({ chains: [{ client: baseClient }, { client: mainnetClient }] })
 * const tx = await lanes.sender({ chainId: 8453, account }).send({ to, data }, { id: idempotencyKey, until: 'queued' })
 */
export function createLanes<const chains extends readonly LanesChain[]>(
  parameters: LanesParameters<chains>,
): Lanes<chains> {
  return createLanesIn(systemEnvironment(), parameters) as unknown as Lanes<chains>
}

/** `createLanes` in a given environment, for simulations. */
export function createLanesIn(
  environment: Environment,
  parameters: LanesParameters<readonly LanesChain[]>,
): Lanes {
  const chains = checkChains(parameters)
  const members = new Map<number, Map<string, LazyMember>>()
  const feeChanges = new Map<number, FeeChange>()
  let closing: Promise<void> | undefined
  const makers = new Map([...chains].map(([chainId, options]) => [chainId, makerOf(options)]))

  function makerOf(options: LanesChain): Maker {
    const { store, logger } = parameters
    const client = options.client as Client<Transport, Chain, Account | undefined>
    const common = { ...options, store: options.store ?? store, logger: options.logger ?? logger, client }
    /** An error of the caller's hook must not fail the sender. */
    function guarded<T>(work: () => T): T | undefined {
      try {
        return work()
      } catch (error) {
        if (common.logger) common.logger.error?.({ error: safeError(error) }, 'a listener threw')
        return undefined
      }
    }
    return {
      chain: client.chain,
      make(account, closed) {
        const member = createMemberIn(environment, { ...common, account }, closed)
        const change = feeChanges.get(client.chain.id)
        if (change) member.sender.setFees(change)
        return member
      },
      made(sender) {
        const off = guarded(() => parameters.onSender?.(sender as never))
        return () => void guarded(() => (typeof off === 'function' ? off() : undefined))
      },
      get closed() {
        return closing !== undefined
      },
    }
  }

  function makerFor(chainId: number): Maker {
    if (closing) throw new TxlaneError('The lanes are closed.', { code: 'CLOSED', fate: 'notExecuted' })
    const maker = makers.get(chainId)
    if (maker === undefined) throw invalid('chainId', chainId, `one of ${[...chains.keys()].join(', ')}`)
    return maker
  }

  function memberOf(chainId: number, account: LocalAccount): LazyMember {
    const maker = makerFor(chainId)
    checkAccount(account)
    const ofChain = members.get(chainId) ?? new Map<string, LazyMember>()
    const address = account.address.toLowerCase()
    const known = ofChain.get(address)
    if (known && !known.member?.closed()) return known
    const fresh = createLazyMember(maker, account)
    members.set(chainId, ofChain.set(address, fresh))
    return fresh
  }

  const madeIn = (ofChain: ReadonlyMap<string, LazyMember> | undefined) =>
    [...(ofChain?.values() ?? [])].flatMap((one) => one.member ?? [])

  async function close(): Promise<void> {
    const made = [...members.values()].flatMap(madeIn)
    await Promise.all(made.map(({ sender }) => sender.close()))
  }

  const lanes: Lanes = {
    sender: (options) => {
      const { chainId, account } = object('options', options) as typeof options
      checkNames('options', options, { chainId: true, account: true })
      return memberOf(chainId, account).sender as never
    },
    pool(options) {
      const { chainId, accounts } = object('options', options) as typeof options
      checkNames('options', options, { chainId: true, accounts: true })
      checkAccounts(accounts)
      // The pool and `sender` must return the same object for an account.
      const make = (account: LocalAccount) => {
        const one = memberOf(chainId, account)
        return { ...one.made(), sender: one.sender }
      }
      return createPool(accounts.map(make), { starved: chains.get(chainId)?.starved, make }) as never
    },
    setFees(options) {
      const { chainId, ...change } = object('options', options) as typeof options
      makerFor(chainId)
      checkFeeChange(change, chains.get(chainId)?.fees)
      const own = ownFees(change)
      feeChanges.set(chainId, withChange(feeChanges.get(chainId) ?? {}, own))
      for (const { sender } of madeIn(members.get(chainId))) sender.setFees(own)
    },
    close() {
      closing ??= close()
      return closing
    },
    [Symbol.asyncDispose]: () => lanes.close(),
  }
  return lanes
}

const CHAIN_OPTIONS = { ...LANE_OPTIONS, client: true } as const

function checkChains(parameters: LanesParameters<readonly LanesChain[]>): ReadonlyMap<number, LanesChain> {
  const { chains, onSender } = object('options', parameters)
  checkNames('options', parameters, { chains: true, store: true, logger: true, onSender: true })
  if (onSender !== undefined && typeof onSender !== 'function')
    throw invalid('onSender', onSender, 'a function')
  if (!Array.isArray(chains) || chains.length === 0) throw invalid('chains', chains, 'at least one chain')
  const byId = new Map<number, LanesChain>()
  for (const entry of chains as LanesChain[]) {
    checkLaneOptions(entry, CHAIN_OPTIONS)
    const { id } = entry.client.chain
    if (byId.has(id)) throw invalid('chains', id, 'each chain id once')
    byId.set(id, entry)
  }
  return byId
}
