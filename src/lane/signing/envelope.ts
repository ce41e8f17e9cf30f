import {
  type Address,
  type Chain,
  type Hash,
  type Hex,
  isAddressEqual,
  type LocalAccount,
  parseTransaction,
  recoverTransactionAddress,
  type SerializeTransactionFn,
  type TransactionSerializable,
} from 'viem'
import { TxlaneError } from '../../errors/base.js'
import { AccountFailure } from '../../errors/redactError.js'
import type { Fees } from '../../ledger/fees.js'
import { hashOf } from '../../platform/hash.js'
import type { EnvelopeSigner, TxRequest } from '../../types/index.js'

type Signed = { readonly raw: Hex; readonly hash: Hash }

/** The content of an envelope besides the nonce and the fees. */
export type Content = { readonly request: TxRequest; readonly gas: bigint }

// Fields that the lane sets itself, or that are options of this library and not for the chain.
const OURS = new Set([
  'account',
  'authorize',
  'chain',
  'chainId',
  'dataSuffix',
  'from',
  'gas',
  'gasPrice',
  'maxFeePerGas',
  'maxPriorityFeePerGas',
  'nonce',
  'nonceManager',
  'assertChainId',
  'type',
])

type Parameters = {
  readonly content: Content
  readonly nonce: number
  readonly fees: Fees
  readonly authorizationList: unknown
}

function failed(cause: unknown): never {
  throw new AccountFailure(cause)
}

/**
 * The signing function of one account. It is looked up once, since each account object has its own hidden
 * class.
 */
type SignEnvelope = EnvelopeSigner['signEnvelope']

/** Builds the envelope that the chain's own serializer takes, and has the account sign it. */
export function createEnvelopes(chain: Chain) {
  const serializer = chain.serializers?.transaction as SerializeTransactionFn | undefined
  let account: LocalAccount | undefined
  let signEnvelope: SignEnvelope

  return function sign(signer: LocalAccount, { content, nonce, fees, authorizationList }: Parameters) {
    if (signer !== account) {
      account = signer
      signEnvelope = signerOf(signer)
    }
    const type = typeOf(content.request, fees, authorizationList !== undefined)
    const ours = ourFields(type, chain.id, { gas: content.gas, nonce, fees })
    const transaction = withFields(ours, content.request) as TransactionSerializable
    if (authorizationList !== undefined) Object.assign(transaction, { authorizationList })
    return signEnvelope(transaction, serializer)
  }
}

function signerOf(account: LocalAccount): SignEnvelope {
  const { signEnvelope } = account as Partial<EnvelopeSigner>
  if (signEnvelope)
    return (transaction, serializer) => {
      try {
        const signing = signEnvelope(transaction, serializer)
        return 'raw' in signing ? signing : Promise.resolve(signing).catch(failed)
      } catch (error) {
        return failed(error)
      }
    }
  return (transaction, serializer) => signWith(account, transaction, serializer)
}

async function signWith(
  account: LocalAccount,
  transaction: TransactionSerializable,
  serializer: SerializeTransactionFn | undefined,
): Promise<Signed> {
  const options = serializer ? { serializer } : undefined
  // The account may throw synchronously.
  const raw = await (async () => account.signTransaction(transaction, options))().catch(failed)
  if (typeof raw !== 'string' || !/^0x[0-9a-f]+$/i.test(raw)) {
    throw new TxlaneError('The account gave back something other than signed bytes.', {
      code: 'SIGNER',
      fate: 'notExecuted',
    })
  }
  return { raw, hash: hashOf(raw) }
}

function ourFields(
  type: string | undefined,
  chainId: number,
  { gas, nonce, fees }: { gas: bigint; nonce: number; fees: Fees },
): Record<string, unknown> {
  if ('gasPrice' in fees) return { type, chainId, gas, nonce, gasPrice: fees.gasPrice }
  const { maxFeePerGas, maxPriorityFeePerGas } = fees
  return { type, chainId, gas, nonce, maxFeePerGas, maxPriorityFeePerGas }
}

/**
 * Fields are added one by one: Node 20 gives each object that is spread and then extended its own hidden
 * class.
 */
function withFields(fields: Record<string, unknown>, request: TxRequest): object {
  for (const key of Object.keys(request)) {
    const value = request[key as keyof TxRequest]
    if (!OURS.has(key) && value !== undefined) fields[key] = value
  }
  const suffix = (request as { dataSuffix?: Hex }).dataSuffix
  if (suffix) fields.data = `${(fields.data as Hex | undefined) ?? '0x'}${suffix.slice(2)}`
  return fields
}

/**
 * The type that the request sets. Otherwise the fees decide, and an access list does not change that for
 * EIP-1559 fees.
 */
function typeOf(request: TxRequest, fees: Fees, authorizes: boolean): string | undefined {
  if (authorizes) return 'eip7702'
  const asked = (request as { type?: string | undefined }).type
  if (asked !== undefined) return asked
  // Celo's own type (CIP-64) is chosen by its serializer from the fee currency.
  if ('feeCurrency' in request && request.feeCurrency !== undefined) return 'cip64'
  if ('gasPrice' in fees) return request.accessList ? 'eip2930' : 'legacy'
  return 'eip1559'
}

type Recovered = { readonly from: Address; readonly chainId: number | undefined }

/**
 * Verifies the first bytes that an account signs against its address and the chain. Signed with the key of
 * another account, they would be sent from that one, at a nonce that is not its own; signed for another
 * chain, every node would refuse them.
 * Runs once per account, since recovering costs more than signing. Returns undefined if the account is known
 * to be correct, as an account created from its own key is. Bytes in a chain-specific format that cannot be
 * parsed here are accepted.
 */
export function createSignerCheck(
  chainId: number,
): (signer: LocalAccount, raw: Hex) => Promise<void> | undefined {
  const verdicts = new WeakMap<LocalAccount, Promise<string | undefined>>()
  // The last account that was found correct: nearly always the only one.
  let good: LocalAccount | undefined

  async function check(signer: LocalAccount, raw: Hex): Promise<void> {
    const verdict = verdicts.get(signer) ?? faultOf(signer, raw, chainId)
    verdicts.set(signer, verdict)
    const fault = await verdict
    if (fault !== undefined) throw wrong(signer, fault)
    good = signer
  }

  return (signer, raw) => {
    if (signer === good) return undefined
    if (!isOwnKey(signer)) return check(signer, raw)
    good = signer
    return undefined
  }
}

/**
 * Whether the account signs with the key of its address. A copy of an account with a changed address still
 * signs as the original.
 */
function isOwnKey(signer: LocalAccount): boolean {
  return (signer as Partial<EnvelopeSigner>).signsAs === signer.address
}

/** Describes the fault if it does not sign for its own address on this chain. */
async function faultOf({ address }: LocalAccount, raw: Hex, chainId: number): Promise<string | undefined> {
  const signed = await recover(raw)
  if (signed === undefined) return undefined
  if (!isAddressEqual(signed.from, address)) return `with the key of ${signed.from}`
  if ((signed.chainId ?? chainId) !== chainId) return `for chain ${signed.chainId}, not ${chainId}`
  return undefined
}

function wrong({ address }: LocalAccount, how: string): TxlaneError {
  return new TxlaneError(`The account ${address} signs ${how}.`, {
    code: 'SIGNER',
    fate: 'notExecuted',
    metaMessages: ['Argument: account'],
  })
}

async function recover(raw: Hex): Promise<Recovered | undefined> {
  try {
    const serializedTransaction = raw as `0x02${string}`
    const { chainId } = parseTransaction(serializedTransaction)
    return { from: await recoverTransactionAddress({ serializedTransaction }), chainId }
  } catch {
    return undefined
  }
}
