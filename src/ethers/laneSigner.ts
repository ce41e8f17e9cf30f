import {
  AbstractSigner,
  type Authorization,
  type AuthorizationRequest,
  assert,
  type BlockTag,
  getAddress,
  Interface,
  type InterfaceAbi,
  type Provider,
  resolveAddress,
  type TransactionLike,
  type TransactionRequest,
  type TransactionResponse,
  TypedDataEncoder,
} from 'ethers'
import type { Chain, LocalAccount } from 'viem'
import { invalid } from '../errors/invalid.js'
import type { Sender, SendOptions } from '../types/index.js'
import { unsupported } from '../validate/validate.js'
import { sendError } from './errors.js'
import { createLandings, type Landings } from './landings.js'
import { createProviders, type Providers } from './laneProvider.js'
import { requestOf } from './request.js'
import { responseOf } from './response.js'
import { createSigning, type Signing } from './signing.js'

/** The options of `laneSigner`. */
export type LaneSignerOptions = {
  /**
   * The sender's own account, for `signMessage`, `signTypedData` and `authorize`, because a sender does not
   * expose its account. @default none: these methods are UNSUPPORTED
   */
  account?: LocalAccount | undefined
  /**
   * The interface that decodes custom errors (`error.revert`) if a transaction reverts before it is sent,
   * because a signer does not know the contract. Without it `error.data` is still set, for
   * `contract.interface.parseError`. @default none
   */
  errors?: Interface | InterfaceAbi | undefined
  /**
   * Send options for all its transactions. `customData.txlane` of a transaction takes precedence.
   * @default none
   */
  send?: LaneSendOptions | undefined
}

/**
 * Creates an ethers `Signer` that sends through a lane. Contracts, factories and other code that takes a
 * signer work unchanged, with the guarantees of the sender.
 *
 * `sendTransaction` resolves once a node has accepted the transaction, with a `TransactionResponse`. Its
 * `wait`, and that of the responses of contracts, follows the transaction and not the hash. A bumped
 * transaction resolves with the receipt of the attempt that landed (`receipt.hash` is its hash), never with
 * TRANSACTION_REPLACED. It resolves at the sealed block, with the lane's receipt; the provider is asked only
 * for block numbers, to count further confirmations. A revert rejects with CALL_EXCEPTION, as in ethers.
 *
 * `signer.provider` is the given provider, extended to know the lane's transactions by any of their hashes:
 * in `getTransaction`, `getTransactionReceipt`, `waitForTransaction` and listeners for a hash.
 *
 * Differences from ethers' signers: a `nonce` is INVALID, whatever its value is, because the lane assigns it.
 * `getNonce()` returns the next nonce, and reserves nothing. `signTransaction` is UNSUPPORTED. Missing gas
 * and fees are set by the lane, so a transaction makes no request to the provider. For errors and their
 * `fate` see `fateOf`.
 *
 * Not guaranteed: that a contract is at the address that ethers has computed, if another wallet took the
 * nonce and the deployment moved to another one. `waitForDeployment` rejects then with TRANSACTION_REPLACED,
 * whose `receipt.contractAddress` is the actual address.
 *
 * @throws TxlaneError `INVALID` at once for an invalid account or invalid options
 * @example
 * const signer = laneSigner(createSender({ client }), new JsonRpcProvider('https://node.example'))
 * const token = new Contract(to, ['function approve(address, uint256) returns (bool)'], signer)
 * const response = await token.getFunction('approve').send(address, 1n)
 * const receipt = await response.wait()
 */
export function laneSigner<chain extends Chain>(
  sender: Sender<chain>,
  provider: Provider | null = null,
  options: LaneSignerOptions = {},
): LaneSigner {
  const lane = sender as unknown as Sender
  const { account, errors, send = {} } = options
  if (account !== undefined && account.address.toLowerCase() !== lane.address.toLowerCase())
    throw invalid('options.account', account.address, `the lane's own account ${lane.address}`)
  const landings = createLandings(lane)
  return new LaneSigner(
    {
      sender: lane,
      landings,
      signing: createSigning(account),
      errors: errors === undefined ? undefined : Interface.from(errors),
      providers: createProviders(lane, landings),
      send: checkOptions('options.send', send),
    },
    provider,
  )
}

type Parts = {
  readonly sender: Sender
  readonly landings: Landings
  readonly signing: Signing
  readonly errors: Interface | undefined
  readonly providers: Providers
  readonly send: LaneSendOptions
}

/** The signer that `laneSigner` returns. */
export class LaneSigner extends AbstractSigner {
  /** The sender's account. */
  readonly address: string
  readonly #parts: Parts
  /** The provider as given. The property `provider` is the extended view of it. */
  readonly #provider: Provider | null

  constructor(parts: Parts, provider: Provider | null) {
    super(provider && parts.providers.viewOf(provider))
    this.address = getAddress(parts.sender.address)
    this.#parts = parts
    this.#provider = provider
  }

  async getAddress(): Promise<string> {
    return this.address
  }

  /** The same lane with another provider. */
  connect(provider: Provider | null): LaneSigner {
    return new LaneSigner(this.#parts, provider)
  }

  /**
   * The same signer with other send options: `priority`, `expires`, `feeCeiling` and the others of `send`. An
   * `id` is for one transaction: `contract.connect(signer.with({ id }))`, or `{ customData: { txlane: { id }
   * } }` as an override.
   */
  with(options: LaneSendOptions): LaneSigner {
    const send = { ...this.#parts.send, ...checkOptions('options', options) }
    return new LaneSigner({ ...this.#parts, send }, this.#provider)
  }

  /**
   * Without a tag or with `pending`: the next nonce of the lane, which is not reserved
   * (`createNonceAllocator` does that). With another tag: the chain's count.
   */
  override async getNonce(blockTag?: BlockTag): Promise<number> {
    if (blockTag !== undefined && blockTag !== 'pending') return super.getNonce(blockTag)
    const { holes, cursor } = await this.#parts.sender.snapshot()
    return holes[0] ?? cursor
  }

  /** As in ethers, by asking the provider, but without a nonce, so that the result may be sent. */
  override async populateTransaction(tx: TransactionRequest): Promise<TransactionLike<string>> {
    if (tx.nonce != null) throw invalid('tx.nonce', tx.nonce, 'no nonce: the lane owns it')
    const { nonce: _, ...rest } = await super.populateTransaction({ ...tx, nonce: 0 })
    return rest
  }

  /** @throws TxlaneError, or an ethers error that contains one: see `fateOf` */
  override async sendTransaction(asked: TransactionRequest): Promise<TransactionResponse> {
    // Copied, because the caller may reuse its object while the provider is asked.
    const tx = { ...asked }
    const { sender, landings, errors, providers, send } = this.#parts
    const provider = this.#connected('sendTransaction')
    await providers.check(provider)
    const { chain, address } = sender
    const request = await requestOf(tx, { chain, address, signer: this })
    try {
      const sent = await sender.send(request, { ...send, ...optionsOf(tx.customData) })
      const response = await responseOf(sent, { sender, request, provider })
      landings.onResponse(sent, response)
      return response
    } catch (error) {
      throw sendError(error, { request, from: this.address, errors })
    }
  }

  /**
   * @throws TxlaneError `UNSUPPORTED`, because bytes with a nonce that the lane does not know would collide
   *   with it
   */
  async signTransaction(): Promise<string> {
    throw unsupported('signTransaction', 'sendTransaction, or a nonce from createNonceAllocator')
  }

  async signMessage(message: string | Uint8Array): Promise<string> {
    return this.#parts.signing.message(message)
  }

  async signTypedData(
    ...[domain, types, value]: Parameters<AbstractSigner['signTypedData']>
  ): Promise<string> {
    const resolve = async (name: string) => resolveAddress(name, this)
    const resolved = await TypedDataEncoder.resolveNames(domain, types, value, resolve)
    return this.#parts.signing.typedData({ domain: resolved.domain, types, value: resolved.value })
  }

  /**
   * Signs a delegation (EIP-7702) of this account, by default for the lane's chain and its next nonce. In
   * `authorizationList` of a transaction of this signer it is signed again, once the nonce is known.
   */
  override async authorize(asked: AuthorizationRequest): Promise<Authorization> {
    const address = await resolveAddress(asked.address, this)
    const chainId = asked.chainId ?? this.#parts.sender.chain.id
    const nonce = asked.nonce ?? (await this.getNonce())
    return this.#parts.signing.authorization({ address, chainId, nonce })
  }

  #connected(operation: string): Provider {
    assert(this.provider, 'missing provider', 'UNSUPPORTED_OPERATION', { operation })
    return this.provider
  }
}

/**
 * The send options of a transaction: `SendOptions` without `until`, because a `TransactionResponse` needs a
 * hash, which does not exist before the transaction is signed.
 */
export type LaneSendOptions = Omit<SendOptions, 'until'>

/**
 * The lane's options in a request. ethers passes `customData` on unchanged, also from the overrides of a
 * call.
 */
function optionsOf(customData: unknown): LaneSendOptions {
  const given = (customData as { txlane?: unknown } | null | undefined)?.txlane
  return given === undefined ? {} : checkOptions('tx.customData.txlane', given)
}

/** Checks only the form. Each send checks the fields. */
function checkOptions(argument: string, options: unknown): LaneSendOptions {
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw invalid(argument, options, 'an object')
  const { until } = options as { until?: unknown }
  if (until !== undefined && until !== 'accepted')
    throw invalid(`${argument}.until`, until, 'nothing: ethers resolves with a hash')
  return options as LaneSendOptions
}
