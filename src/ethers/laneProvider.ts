import {
  isCallException,
  type Listener,
  type Provider,
  type ProviderEvent,
  type TransactionReceipt,
  TransactionResponse,
  type TransactionResponseParams,
} from 'ethers'
import { isHash } from 'viem'
import { createFollowers } from './followers.js'
import type { Landings } from './landings.js'
import { LaneReceipt } from './receipt.js'

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
