import { type Address, type Chain, isAddress } from 'viem'
import { TxlaneError } from '../errors/base.js'
import { checkNames } from '../errors/checkNames.js'
import { invalid } from '../errors/invalid.js'
import { checkGetter } from '../rpc/methods/arguments.js'
import type { CancelOptions, SendOptions, TxRequest, WaitOptions, WaitStage } from '../types/index.js'
import { type GasBlock, leastGas, mostGas } from './gasBounds.js'
import { CANCEL_OPTIONS, checkRequestNames, SEND_OPTIONS, WAIT_OPTIONS } from './names.js'
import { isOutsideId, isTx, OUTSIDE_PREFIX } from './stageOrder.js'

export const UINT256_MAX = 2n ** 256n - 1n
const UINT64_MAX = 2n ** 64n - 1n
const HEX_DATA = /^0x([0-9a-f]{2})*$/i
const HASH = /^0x[0-9a-f]{64}$/i
// An address in lower case has no checksum that could be wrong.
const PLAIN_ADDRESS = /^0x[0-9a-f]{40}$/
const REQUIRED = {}
const OPTIONAL = { optional: true }
const WAIT_STAGES: readonly unknown[] = ['preconfirmed', 'sealed', 'safe', 'finalized']
export const ORDERS: readonly unknown[] = ['relaxed', 'strict']
export const PRESETS: readonly unknown[] = ['economy', 'normal', 'urgent']
export const STARVED: readonly unknown[] = ['wait', 'fail']
const TYPES: readonly unknown[] = ['legacy', 'eip2930', 'eip1559']
const ID_LENGTH_MAX = 256
const GROUP_LENGTH_MAX = 128
/** Characters without a shape, or that change the text beside them: controls, lone surrogates, line separators. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/u
// The largest delay of a JavaScript timer, far beyond every block time.
export const MS_MAX = 2 ** 31 - 1

export type Fields = Readonly<Record<string, unknown>>

/** Checks the request of the caller: every field that would go into an envelope. */
export function checkRequest(request: TxRequest, chain: Chain): void {
  const fields = object('request', request)
  if (fields.nonce !== undefined) throw invalid('request.nonce', fields.nonce, 'no nonce: the lane owns it')
  checkSupported(fields)
  checkRequestNames(fields, chain)
  address('request.to', fields.to, OPTIONAL)
  data('request.data', fields.data)
  amount('request.value', fields.value, UINT256_MAX)
  amount('request.gas', fields.gas, UINT64_MAX, 1n)
  checkFees(fields, 'request')
  // The serializer of a chain may know more types.
  if (chain.serializers?.transaction === undefined && fields.authorize === undefined)
    oneOf('request.type', fields.type, TYPES)
  checkAccessList(fields.accessList)
  checkAuthorize(fields)
  if (
    (fields.to === undefined || fields.to === null) &&
    (fields.data === undefined || fields.data === '0x')
  ) {
    throw invalid('request.to', fields.to, 'an address, or data to deploy')
  }
  checkGas(request, chain)
  checkChain(fields, chain)
}

/**
 * Refuses a gas limit that no client of the chain accepts, before anything is kept or sent. `block` is the newest block: it
 * shows the fork and the gas limit of a block.
 */
export function checkGas(request: TxRequest, chain: Chain, block?: GasBlock): void {
  const { gas } = request
  if (gas === undefined) return
  const least = leastGas(request, chain, block?.fork)
  if (gas < least) throw invalid('request.gas', gas, `at least ${least}, which it costs before it runs`)
  const excess = excessGas(request, chain, block)
  if (excess) throw excess
}

/** The error for a gas limit above that of a block; undefined if it is not above, or if that is not known. */
export function excessGas(
  { gas }: TxRequest,
  chain: Chain,
  block: GasBlock | undefined,
): TxlaneError | undefined {
  const most = gas === undefined ? undefined : mostGas(chain, block)
  if (most === undefined || (gas as bigint) <= most) return undefined
  return invalid('request.gas', gas, `at most ${most}, the gas limit of block ${block?.number}`)
}

function checkAccessList(list: unknown): void {
  if (list === undefined) return
  if (!Array.isArray(list))
    throw invalid('request.accessList', list, 'an array of addresses with their storage keys')
  for (const [index, entry] of list.entries()) {
    const argument = `request.accessList[${index}]`
    const { address: at, storageKeys } = object(argument, entry)
    address(`${argument}.address`, at)
    const sound =
      Array.isArray(storageKeys) && storageKeys.every((key) => typeof key === 'string' && HASH.test(key))
    if (!sound) throw invalid(`${argument}.storageKeys`, storageKeys, 'an array of 32-byte hex')
  }
}

/** A request of viem may name its sender. For a lane it can only be the account of the lane. */
export function checkAccountOf(request: TxRequest, address: Address): void {
  const { account, from } = request as { account?: unknown; from?: unknown }
  const given = account ?? from
  const own = typeof given === 'object' && given !== null ? (given as { address?: unknown }).address : given
  if (own === undefined || own === null) return
  if (typeof own === 'string' && own.toLowerCase() === address.toLowerCase()) return
  throw invalid('request.account', own, `the lane's own account ${address}`)
}

function checkChain(fields: Fields, chain: Chain): void {
  const given = (fields.chain as { id?: unknown } | null | undefined)?.id ?? fields.chainId
  if (given === undefined || Number(given) === chain.id) return
  throw new TxlaneError(`The request is for chain ${String(given)}, the lane is on chain ${chain.id}.`, {
    code: 'CHAIN_MISMATCH',
    fate: 'notExecuted',
    metaMessages: ['Argument: request.chain'],
  })
}

/** The fields of nonces that are not those of the account: keyed and expiring nonces, as on Tempo (TIP-1009). */
const KEYED_NONCE_FIELDS = ['nonceKey', 'validBefore', 'validAfter'] as const

/** Transaction types whose hash is not that of the raw bytes, or that a lane cannot send. */
function checkSupported(fields: Fields): void {
  const blobs = fields.blobs !== undefined || fields.sidecars !== undefined || fields.type === 'eip4844'
  if (blobs)
    throw unsupported(
      'blob transactions',
      'send them with viem directly, with a nonce from createNonceAllocator',
    )
  if (fields.type === 'eip712' || fields.paymaster !== undefined) {
    throw unsupported('zkSync transactions (type 0x71)', "use viem's zksync wallet actions")
  }
  for (const name of KEYED_NONCE_FIELDS) {
    if (fields[name] === undefined) continue
    throw unsupported(
      `request.${name}, because a lane uses the sequential nonces of its account`,
      'leave it out, or send the transaction with viem directly',
    )
  }
  if (fields.authorizationList !== undefined) {
    throw unsupported(
      'authorizationList',
      'name the delegations in `authorize`: they are signed after the nonce is known',
    )
  }
}

/** EIP-7702: the list is not empty, and the transaction has a recipient and a fee cap. */
function checkAuthorize(fields: Fields): void {
  const { authorize, to, gasPrice, type } = fields
  if (authorize === undefined) return
  if (!Array.isArray(authorize) || authorize.length === 0)
    throw invalid('request.authorize', authorize, 'an array of delegations, one at least')
  for (const [index, one] of authorize.entries()) {
    const argument = `request.authorize[${index}]`
    const { contractAddress, account } = object(argument, one)
    address(`${argument}.contractAddress`, contractAddress)
    if (account === undefined) continue
    const signer = object(`${argument}.account`, account)
    address(`${argument}.account.address`, signer.address)
    if (typeof signer.signAuthorization !== 'function')
      throw invalid(`${argument}.account`, signer.address, 'a local account that signs authorizations')
  }
  if (to === undefined || to === null)
    throw invalid('request.to', to, 'an address, where something is authorized')
  if (gasPrice !== undefined)
    throw invalid('request.gasPrice', gasPrice, 'maxFeePerGas, where something is authorized')
  oneOf('request.type', type, ['eip7702'])
}

export function unsupported(what: string, instead: string): TxlaneError {
  return new TxlaneError(`Not supported: ${what}.`, {
    code: 'UNSUPPORTED',
    fate: 'notExecuted',
    metaMessages: [`Instead: ${instead}.`],
  })
}

export function checkFees(fees: unknown, prefix = 'fees'): void {
  const { gasPrice, maxFeePerGas, maxPriorityFeePerGas } = object(prefix, fees)
  amount(`${prefix}.gasPrice`, gasPrice, UINT256_MAX)
  amount(`${prefix}.maxFeePerGas`, maxFeePerGas, UINT256_MAX)
  amount(`${prefix}.maxPriorityFeePerGas`, maxPriorityFeePerGas, UINT256_MAX)
  if (gasPrice !== undefined && maxFeePerGas !== undefined) {
    throw invalid(`${prefix}.gasPrice`, gasPrice, 'either gasPrice or maxFeePerGas, not both')
  }
  const tip = maxPriorityFeePerGas as bigint | undefined
  const cap = maxFeePerGas as bigint | undefined
  if (tip !== undefined && cap !== undefined && tip > cap) {
    throw invalid(`${prefix}.maxPriorityFeePerGas`, tip, `at most maxFeePerGas (${cap})`)
  }
}

export function checkSendOptions(options: SendOptions): void {
  checkNames('options', object('options', options), SEND_OPTIONS)
  const { id, until, expires, onExpiry, signal, priority, feeCeiling } = options as Fields
  checkId(id)
  oneOf('options.until', until, ['queued', 'accepted'])
  oneOf('options.onExpiry', onExpiry, ['cancel', 'leave'])
  oneOf('options.order', options.order, ORDERS)
  oneOf('options.starved', options.starved, STARVED)
  oneOf('options.afterStage', options.afterStage, WAIT_STAGES)
  oneOf('options.afterStatus', options.afterStatus, ['success', 'any'])
  if (expires !== undefined) {
    const atMs = object('options.expires', expires).atMs
    if (typeof atMs !== 'number' || !Number.isFinite(atMs))
      throw invalid('options.expires.atMs', atMs, 'milliseconds since the epoch')
  }
  checkSignal('options.signal', signal)
  checkTimeout(options.timeoutMs)
  boolean('options.private', options.private)
  boolean('options.again', options.again)
  if (priority !== undefined && (typeof priority !== 'number' || !Number.isFinite(priority))) {
    throw invalid('options.priority', priority, 'a finite number')
  }
  amount('options.feeCeiling', feeCeiling, UINT256_MAX, 1n)
  oneOf('options.feePreset', options.feePreset, PRESETS)
  if (options.group !== undefined && typeof options.group !== 'string')
    throw invalid('options.group', options.group, 'a string')
  if (options.deploys !== undefined) address('options.deploys', options.deploys)
  if (options.affinity !== undefined && typeof options.affinity !== 'string')
    throw invalid('options.affinity', options.affinity, 'a string')
  checkGroup('options.group', options.group)
  checkAfter(options.after)
  checkEffect(options.effect)
}

export function checkGroup(argument: string, group: unknown): void {
  if (group === undefined) return
  const isPrintable = typeof group === 'string' && /\S/.test(group) && !UNPRINTABLE.test(group)
  if (!isPrintable || group.length > GROUP_LENGTH_MAX)
    throw invalid(argument, group, `1 to ${GROUP_LENGTH_MAX} printable characters`)
}

function checkAfter(after: unknown): void {
  if (after === undefined) return
  if (!Array.isArray(after)) throw invalid('options.after', after, 'an array of ids or transactions')
  for (const [index, one] of after.entries()) {
    if (typeof one !== 'string' && !isTx(one))
      throw invalid(`options.after[${index}]`, one, 'an id or a transaction')
  }
}

function checkEffect(effect: unknown): void {
  if (effect === undefined) return
  const { address: at, slot, value, getter } = object('options.effect', effect)
  address('options.effect.address', at)
  if (typeof slot !== 'string' || !/^0x[0-9a-f]{1,64}$/i.test(slot))
    throw invalid('options.effect.slot', slot, 'a storage position')
  if (typeof value !== 'string' || !HASH.test(value))
    throw invalid('options.effect.value', value, '32 bytes of hex')
  checkGetter(getter, 'options.effect.getter')
}

function checkId(id: unknown): void {
  if (id === undefined) return
  if (typeof id !== 'string' || id.length === 0 || id.length > ID_LENGTH_MAX) {
    throw invalid('options.id', id, `a string of 1 to ${ID_LENGTH_MAX} characters`)
  }
  if (isOutsideId(id)) throw invalid('options.id', id, `an id that does not begin with ${OUTSIDE_PREFIX}`)
}

export function checkWait(stage: WaitStage, options: WaitOptions): void {
  oneOf('stage', stage, WAIT_STAGES)
  const { timeoutMs, signal, throwOnRevert } = object('options', options)
  checkNames('options', options, WAIT_OPTIONS)
  boolean('options.throwOnRevert', throwOnRevert)
  checkTimeout(timeoutMs)
  checkSignal('options.signal', signal)
}

export function checkCancel(options: CancelOptions): void {
  const { timeoutMs, signal } = object('options', options)
  checkNames('options', options, CANCEL_OPTIONS)
  checkTimeout(timeoutMs)
  checkSignal('options.signal', signal)
}

function checkTimeout(timeoutMs: unknown): void {
  if (timeoutMs === undefined) return
  if (typeof timeoutMs !== 'number' || !(timeoutMs >= 0 && timeoutMs <= MS_MAX))
    throw invalid('options.timeoutMs', timeoutMs, `milliseconds from 0 to ${MS_MAX}`)
}

export function checkSignal(argument: string, signal: unknown): void {
  if (signal === undefined) return
  const usable =
    typeof signal === 'object' && signal !== null && 'aborted' in signal && 'addEventListener' in signal
  if (!usable) throw invalid(argument, signal, 'an AbortSignal')
}

export function object(argument: string, value: unknown): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid(argument, value, 'an object')
  return value as Fields
}

/** @throws `INVALID` if the store lacks one of these methods */
export function checkVerbs(store: unknown, verbs: Readonly<Record<string, true>>): void {
  const given = object('store', store)
  for (const verb of Object.keys(verbs))
    if (typeof given[verb] !== 'function') throw invalid('store', store, `a store: it lacks ${verb}()`)
}

export function checkLogger(logger: unknown): void {
  if (logger !== undefined && logger !== false && typeof object('logger', logger).info !== 'function')
    throw invalid('logger', logger, 'false, or a logger: it lacks info()')
}

export function address(argument: string, value: unknown, options: { optional?: boolean } = REQUIRED): void {
  if (options.optional && (value === undefined || value === null)) return
  if (typeof value !== 'string' || !(PLAIN_ADDRESS.test(value) || isAddress(value)))
    throw invalid(argument, value, 'an address (20 bytes of hex, its checksum right if it has one)')
}

function data(argument: string, value: unknown): void {
  if (value === undefined) return
  if (typeof value !== 'string' || !HEX_DATA.test(value)) throw invalid(argument, value, 'hex data')
}

export function amount(argument: string, value: unknown, max: bigint, min = 0n): void {
  if (value === undefined) return
  if (typeof value !== 'bigint' || value < min || value > max)
    throw invalid(argument, value, `a bigint from ${min} to ${max}`)
}

export function oneOf(argument: string, value: unknown, allowed: readonly unknown[]): void {
  if (value !== undefined && !allowed.includes(value))
    throw invalid(argument, value, `one of ${allowed.map(String).join(', ')}`)
}

export function boolean(argument: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'boolean') throw invalid(argument, value, 'true or false')
}

export function whole(argument: string, value: unknown, min: number, max: number): void {
  if (value === undefined) return
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < min || value > max)
    throw invalid(argument, value, `a whole number from ${min} to ${max}`)
}

export function callable(argument: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'function') throw invalid(argument, value, 'a function')
}
