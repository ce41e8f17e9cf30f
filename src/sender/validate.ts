import { type Chain, type Client, type FeeValues, isAddress, type LocalAccount } from 'viem'
import { TxlaneError } from '../errors/base.js'
import { invalid } from '../errors/invalid.js'
import type { LaneOptions, Limits, SendOptions, TxRequest, WaitOptions, WaitStage } from '../types.js'
import { OUTSIDE_PREFIX } from './transaction.js'

const UINT256_MAX = 2n ** 256n - 1n
const UINT64_MAX = 2n ** 64n - 1n
const HEX_DATA = /^0x([0-9a-f]{2})*$/i
const HASH = /^0x[0-9a-f]{64}$/i
const WAIT_STAGES: readonly unknown[] = ['preconfirmed', 'sealed', 'safe', 'finalized']
const ID_LENGTH_MAX = 256
// The largest delay a JavaScript timer takes, and far beyond every block time.
const MS_MAX = 2 ** 31 - 1

type Fields = Readonly<Record<string, unknown>>

/** The request as the caller gave it: every field that would go into an envelope. */
export function checkRequest(request: TxRequest, chain: Chain): void {
  const fields = object('request', request)
  if (fields.nonce !== undefined) throw invalid('request.nonce', fields.nonce, 'no nonce: the lane owns it')
  checkSupported(fields)
  address('request.to', fields.to, { optional: true })
  data('request.data', fields.data)
  amount('request.value', fields.value, UINT256_MAX)
  amount('request.gas', fields.gas, UINT64_MAX, 1n)
  checkFees(fields as Partial<FeeValues>, 'request')
  if (
    (fields.to === undefined || fields.to === null) &&
    (fields.data === undefined || fields.data === '0x')
  ) {
    throw invalid('request.to', fields.to, 'an address, or data to deploy')
  }
  checkChain(fields, chain)
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

/** Types whose hash is not that of the raw bytes, or which a lane cannot carry. */
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
  if (fields.authorizationList !== undefined) {
    throw unsupported(
      'authorizationList',
      'name the delegations in `authorize`: they are signed after the nonce is known',
    )
  }
  if (fields.authorize !== undefined) {
    throw unsupported(
      'authorize',
      'send the authorization from another account, or with viem while the lane is drained',
    )
  }
}

export function unsupported(what: string, instead: string): TxlaneError {
  return new TxlaneError(`Not supported: ${what}.`, {
    code: 'UNSUPPORTED',
    fate: 'notExecuted',
    metaMessages: [`Instead: ${instead}.`],
  })
}

export function checkFees(fees: Partial<FeeValues>, prefix = 'fees'): void {
  const { gasPrice, maxFeePerGas, maxPriorityFeePerGas } = object(prefix, fees) as Partial<
    Record<string, unknown>
  >
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
  object('options', options)
  const { id, until, expires, onExpiry, signal, priority, feeCeiling } = options as Fields
  checkId(id)
  oneOf('options.until', until, ['queued', 'accepted'])
  oneOf('options.onExpiry', onExpiry, ['cancel', 'leave'])
  oneOf('options.afterStage', options.afterStage, WAIT_STAGES)
  oneOf('options.afterStatus', options.afterStatus, ['success', 'any'])
  if (expires !== undefined) {
    const atMs = object('options.expires', expires).atMs
    if (typeof atMs !== 'number' || !Number.isFinite(atMs))
      throw invalid('options.expires.atMs', atMs, 'milliseconds since the epoch')
  }
  checkSignal('options.signal', signal)
  if (priority !== undefined && (typeof priority !== 'number' || !Number.isFinite(priority))) {
    throw invalid('options.priority', priority, 'a finite number')
  }
  amount('options.feeCeiling', feeCeiling, UINT256_MAX, 1n)
  if (options.deploys !== undefined) address('options.deploys', options.deploys)
  if (options.after !== undefined && !Array.isArray(options.after))
    throw invalid('options.after', options.after, 'an array of ids or transactions')
  checkEffect(options.effect)
}

function checkEffect(effect: unknown): void {
  if (effect === undefined) return
  const { address: at, slot, value } = object('options.effect', effect)
  address('options.effect.address', at)
  if (typeof slot !== 'string' || !/^0x[0-9a-f]{1,64}$/i.test(slot))
    throw invalid('options.effect.slot', slot, 'a storage position')
  if (typeof value !== 'string' || !HASH.test(value))
    throw invalid('options.effect.value', value, '32 bytes of hex')
}

function checkId(id: unknown): void {
  if (id === undefined) return
  if (typeof id !== 'string' || id.length === 0 || id.length > ID_LENGTH_MAX) {
    throw invalid('options.id', id, `a string of 1 to ${ID_LENGTH_MAX} characters`)
  }
  if (id.startsWith(OUTSIDE_PREFIX))
    throw invalid('options.id', id, `an id that does not begin with ${OUTSIDE_PREFIX}`)
}

export function checkWait(stage: WaitStage, options: WaitOptions): void {
  oneOf('stage', stage, WAIT_STAGES)
  const { timeoutMs, signal } = object('options', options)
  if (
    timeoutMs !== undefined &&
    (typeof timeoutMs !== 'number' || !(timeoutMs >= 0 && timeoutMs <= MS_MAX))
  ) {
    throw invalid('options.timeoutMs', timeoutMs, `milliseconds from 0 to ${MS_MAX}`)
  }
  checkSignal('options.signal', signal)
}

export function checkSignal(argument: string, signal: unknown): void {
  if (signal === undefined) return
  const usable =
    typeof signal === 'object' && signal !== null && 'aborted' in signal && 'addEventListener' in signal
  if (!usable) throw invalid(argument, signal, 'an AbortSignal')
}

/** What createSender was given, before anything is asked of a node. */
export function checkLaneOptions(options: LaneOptions<Chain> & { client: Client }): void {
  object('options', options)
  checkClient(options.client)
  for (const [index, endpoint] of (options.endpoints ?? []).entries()) {
    checkTransport(object(`endpoints[${index}]`, endpoint).client, `endpoints[${index}].client`)
    oneOf(`endpoints[${index}].role`, endpoint.role, ['both', 'read', 'send'])
  }
  oneOf('coldStart', options.coldStart, ['settle', 'immediate'])
  oneOf('starved', options.starved, ['wait', 'fail'])
  checkLossDepth(options.lossDepth)
  if (options.fees?.ceiling) checkFees(options.fees.ceiling, 'fees.ceiling')
  const percent = options.fees?.bump?.percent
  if (percent !== undefined && !(percent >= 1 && percent <= 1_000 && Number.isInteger(percent))) {
    throw invalid('fees.bump.percent', percent, 'a whole number from 1 to 1000')
  }
  const multiplier = options.gasMultiplier
  if (multiplier !== undefined && !(multiplier >= 1 && multiplier <= 100))
    throw invalid('gasMultiplier', multiplier, 'a number from 1 to 100')
  checkStore(options.store)
}

function checkLossDepth(depth: unknown): void {
  if (depth === undefined || depth === 'child' || depth === 'safe') return
  if (typeof depth === 'number' && Number.isInteger(depth) && depth >= 1 && depth <= 10_000) return
  throw invalid('lossDepth', depth, "'child', 'safe' or a number of blocks from 1 to 10000")
}

function checkStore(store: unknown): void {
  if (store === undefined) return
  const verbs = object('store', store)
  for (const verb of ['acquire', 'load', 'enqueue', 'write', 'find', 'list', 'release', 'close']) {
    if (typeof verbs[verb] !== 'function') throw invalid('store', store, `a store: it lacks ${verb}()`)
  }
}

function checkClient(client: unknown): void {
  checkTransport(client, 'client')
  const chain = (client as Fields).chain as Fields | undefined
  if (typeof chain?.id !== 'number' || !Number.isSafeInteger(chain.id))
    throw invalid('client.chain', chain, 'a viem chain')
}

function checkTransport(client: unknown, argument: string): void {
  const { transport, request } = object(argument, client)
  if (typeof transport !== 'object' || typeof request !== 'function')
    throw invalid(argument, client, 'a viem client')
}

/** A local account: one that can sign without the node. */
export function checkAccount(account: unknown): asserts account is LocalAccount {
  const { type, address: own, signTransaction } = object('account', account)
  if (type === 'smart')
    throw unsupported('smart accounts', 'send user operations with a nonce from createNonceAllocator')
  if (type === 'json-rpc')
    throw unsupported('json-rpc accounts, which sign by sending', 'use a local account')
  address('account.address', own)
  if (type !== 'local' || typeof signTransaction !== 'function')
    throw invalid('account', account, 'a local account that signs transactions')
}

/** `limits` over the defaults; every one a positive whole number. */
export function checkLimits(limits: Partial<Limits> | undefined, defaults: Limits): Limits {
  const merged = { ...defaults }
  for (const [name, value] of Object.entries(limits ?? {})) {
    if (value === undefined) continue
    if (!(name in defaults))
      throw invalid(`limits.${name}`, value, `one of ${Object.keys(defaults).join(', ')}`)
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 1 || value > MS_MAX) {
      throw invalid(`limits.${name}`, value, `a whole number from 1 to ${MS_MAX}`)
    }
    merged[name as keyof Limits] = value
  }
  return merged
}

export function object(argument: string, value: unknown): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid(argument, value, 'an object')
  return value as Fields
}

export function address(argument: string, value: unknown, options: { optional?: boolean } = {}): void {
  if (options.optional && (value === undefined || value === null)) return
  if (typeof value !== 'string' || !isAddress(value))
    throw invalid(argument, value, 'an address (20 bytes of hex, its checksum right if it has one)')
}

function data(argument: string, value: unknown): void {
  if (value === undefined) return
  if (typeof value !== 'string' || !HEX_DATA.test(value)) throw invalid(argument, value, 'hex data')
}

function amount(argument: string, value: unknown, max: bigint, min = 0n): void {
  if (value === undefined) return
  if (typeof value !== 'bigint' || value < min || value > max)
    throw invalid(argument, value, `a bigint from ${min} to ${max}`)
}

export function oneOf(argument: string, value: unknown, allowed: readonly unknown[]): void {
  if (value !== undefined && !allowed.includes(value))
    throw invalid(argument, value, `one of ${allowed.map(String).join(', ')}`)
}
