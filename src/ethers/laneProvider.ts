import {
  getAddress,
  isCallException,
  type Listener,
  type LogParams,
  type Provider,
  type ProviderEvent,
  TransactionReceipt,
  TransactionResponse,
  type TransactionResponseParams,
} from 'ethers'
import { isHash, type TransactionReceipt as ViemReceipt } from 'viem'
import type { Sender } from '../types/index.js'
import { createFollowers, type Landings } from './landings.js'
import { checkChain } from './request.js'

type Overrides = Pick<
  Provider,
  | 'getTransaction'
  | 'getTransactionReceipt'
  | 'waitForTransaction'
  | 'on'
  | 'once'
  | 'off'
  | 'addListener'
  | 'removeListener'
  | 'provider'
>

/**
 * The provider that a lane's signer shows. Requests of ethers about a hash of the lane are answered by the
 * lane, whichever attempt landed; `wait` of the responses that contracts return uses only these. All other
 * requests go to the given provider.
 */
export function laneProvider(provider: Provider, landings: Landings): Provider {
  const receiptOf = (receipt: ConstructorParameters<typeof LaneReceipt>[0]) => new LaneReceipt(receipt, view)
  const followers = createFollowers({ provider, landings, receiptOf, view: () => view })

  /** If the lane is closed, the provider may know the transaction as well. */
  const find = (hash: string) => landings.find(hash).catch(() => undefined)

  async function getTransactionReceipt(hash: string): Promise<TransactionReceipt | null> {
    const tx = await find(hash)
    if (tx === undefined) return provider.getTransactionReceipt(hash)
    const receipt = await landings.now(tx)
    return receipt === undefined ? null : receiptOf(receipt)
  }

  async function on(event: ProviderEvent, listener: Listener): Promise<Provider> {
    if (namesHash(event)) followers.on(event, listener, false)
    else await provider.on(event, listener)
    return view
  }

  async function off(event: ProviderEvent, listener?: Listener): Promise<Provider> {
    if (namesHash(event)) followers.off(event, listener)
    else await provider.off(event, listener)
    return view
  }

  const overrides = {
    get provider() {
      return view
    },
    async getTransaction(hash) {
      const tx = await find(hash)
      const landed = tx && (await landings.now(tx).catch(() => undefined))
      return provider.getTransaction(landed?.transactionHash ?? hash)
    },
    getTransactionReceipt,
    async waitForTransaction(hash, confirms, timeoutMs) {
      const isOwn = await landings.find(hash).then(
        (tx) => tx !== undefined,
        () => true,
      )
      if (!isOwn) return provider.waitForTransaction(hash, confirms, timeoutMs)
      const response = new TransactionResponse({ hash } as TransactionResponseParams, view)
      return response.wait(confirms ?? 1, timeoutMs ?? 0).catch((error: unknown) => {
        // For this method a revert is a result, not an error.
        if (isCallException(error) && error.receipt) return error.receipt as TransactionReceipt
        throw error
      })
    },
    on,
    addListener: on,
    async once(event, listener) {
      if (namesHash(event)) followers.on(event, listener, true)
      else await provider.once(event, listener)
      return view
    },
    off,
    removeListener: off,
  } as Overrides

  const bound = new WeakMap<object, unknown>()

  function read(name: string | symbol): unknown {
    if (Object.hasOwn(overrides, name)) return Reflect.get(overrides, name)
    // ethers' providers have private fields, so their methods run only on the original object.
    const value: unknown = Reflect.get(provider, name, provider)
    if (typeof value !== 'function' || name === 'constructor') return value
    if (!bound.has(value)) bound.set(value, value.bind(provider))
    return bound.get(value)
  }

  // The proxy target is an empty object: a Proxy must report its target's non-configurable properties
  // unchanged, and ours differ.
  const view: Provider = new Proxy(Object.create(Object.getPrototypeOf(provider) as object) as Provider, {
    get: (_, name) => read(name),
    set: (_, name, value) => Reflect.set(provider, name, value, provider),
    has: (_, name) => Reflect.has(provider, name),
  })
  return view
}

function namesHash(event: ProviderEvent): event is string {
  return typeof event === 'string' && isHash(event)
}

/** State per provider, shared by all signers of the lane that use it. */
export type Providers = {
  /** The view of a provider that a signer shows. */
  viewOf(provider: Provider): Provider
  /**
   * Checks the chain of a provider, because a provider on another chain would not see the lane's
   * transactions. If it does not answer, it is asked again with the next transaction. It delays none, because
   * the lane has its own endpoints.
   *
   * @throws TxlaneError `CHAIN_MISMATCH`
   */
  check(view: Provider): Promise<void>
}

export function createProviders({ chain }: Sender, landings: Landings): Providers {
  const views = new WeakMap<Provider, Provider>()
  const checked = new WeakMap<Provider, Promise<void>>()
  return {
    viewOf(provider) {
      const view = views.get(provider) ?? laneProvider(provider, landings)
      views.set(provider, view)
      // The view of a view is the view itself.
      views.set(view, view)
      return view
    },
    check(view) {
      const known = checked.get(view)
      if (known !== undefined) return known
      const asked = view.getNetwork().then(
        ({ chainId }) => checkChain('provider', chainId, chain),
        () => void checked.delete(view),
      )
      checked.set(view, asked)
      return asked
    },
  }
}

/**
 * The receipt of a sealed block, from the lane's own data. The provider is not asked, because it may be a
 * block behind.
 */
class LaneReceipt extends TransactionReceipt {
  constructor(receipt: ViemReceipt, provider: Provider) {
    super(
      {
        to: addressOf(receipt.to),
        from: getAddress(receipt.from),
        contractAddress: addressOf(receipt.contractAddress),
        hash: receipt.transactionHash,
        index: receipt.transactionIndex,
        blockHash: receipt.blockHash,
        blockNumber: Number(receipt.blockNumber),
        logsBloom: receipt.logsBloom,
        logs: receipt.logs.map((log) => logOf(log, receipt)),
        gasUsed: receipt.gasUsed,
        blobGasUsed: receipt.blobGasUsed ?? null,
        cumulativeGasUsed: receipt.cumulativeGasUsed,
        effectiveGasPrice: receipt.effectiveGasPrice ?? null,
        blobGasPrice: receipt.blobGasPrice ?? null,
        type: typeOf(receipt.type),
        status: receipt.status === 'success' ? 1 : 0,
        root: receipt.root ?? null,
      },
      provider,
    )
  }

  /** At least 1, because the transaction is in a sealed block that a lagging provider may not have yet. */
  override async confirmations(): Promise<number> {
    return Math.max(1, await super.confirmations())
  }
}

const TYPES: readonly string[] = ['legacy', 'eip2930', 'eip1559', 'eip4844', 'eip7702']

/** A type unknown to viem remains the node's hex value. */
function typeOf(type: string): number {
  const known = TYPES.indexOf(type)
  return known < 0 ? Number(type) : known
}

function addressOf(address: string | null | undefined): string | null {
  return address ? getAddress(address) : null
}

function logOf(log: ViemReceipt['logs'][number], receipt: ViemReceipt): LogParams {
  return {
    transactionHash: receipt.transactionHash,
    transactionIndex: receipt.transactionIndex,
    blockHash: receipt.blockHash,
    blockNumber: Number(receipt.blockNumber),
    removed: log.removed,
    address: getAddress(log.address),
    data: log.data,
    topics: log.topics,
    index: log.logIndex,
  }
}
