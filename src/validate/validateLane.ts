import type { Chain, Client, LocalAccount } from 'viem'
import { checkNames, unknownName } from '../errors/checkNames.js'
import { invalid } from '../errors/invalid.js'
import { RESPONSE_BYTES_MAX } from '../rpc/transports/boundedText.js'
import type { LaneOptions, Limits } from '../types/index.js'
import type { Store } from '../types/store.js'
import {
  ENDPOINT_OPTIONS,
  FINALITY_OPTIONS,
  GROUP_POLICY,
  GROUP_SHARE,
  PROFILE_OPTIONS,
  SENDER_OPTIONS,
} from './names.js'
import {
  address,
  boolean,
  checkGroup,
  checkLogger,
  checkVerbs,
  type Fields,
  MS_MAX,
  ORDERS,
  object,
  oneOf,
  STARVED,
  unsupported,
  whole,
} from './validate.js'
import { checkFeePolicy } from './validateFees.js'

/** Checks the options of `createSender`, without a node. `names`: the options that exist. */
export function checkLaneOptions(
  options: LaneOptions<Chain> & { client: Client },
  names: Readonly<Record<string, true>> = SENDER_OPTIONS,
): void {
  checkNames('options', object('options', options), names)
  checkClient(options.client)
  const { endpoints } = options
  if (endpoints !== undefined && !Array.isArray(endpoints))
    throw invalid('endpoints', endpoints, 'an array of endpoints')
  for (const [index, endpoint] of (endpoints ?? []).entries()) {
    const argument = `endpoints[${index}]`
    checkTransport(object(argument, endpoint).client, `${argument}.client`)
    checkNames(argument, endpoint, ENDPOINT_OPTIONS)
    oneOf(`${argument}.role`, endpoint.role, ['both', 'read', 'send'])
    checkProfile(`${argument}.profile`, endpoint.profile)
  }
  oneOf('broadcast', options.broadcast, ['first', 'all'])
  oneOf('coldStart', options.coldStart, ['settle', 'immediate'])
  oneOf('starved', options.starved, STARVED)
  oneOf('order', options.order, ORDERS)
  checkLossDepth(options.lossDepth)
  checkFinality(options.finality)
  checkFeePolicy(options.fees)
  const multiplier: unknown = options.gasMultiplier
  if (multiplier !== undefined && !(typeof multiplier === 'number' && multiplier >= 1 && multiplier <= 100))
    throw invalid('gasMultiplier', multiplier, 'a number from 1 to 100')
  boolean('simulate', options.simulate)
  checkGroupPolicy(options.groups)
  checkLogger(options.logger)
  if (options.store !== undefined) checkVerbs(options.store, STORE_VERBS)
}

/**
 * A given profile is never revised, so a caller may give only fields that cannot change. `gapBudget` and `batchInOrder` are
 * learned from refusals, which costs two answers; a wrong value would cost every send.
 */
function checkProfile(argument: string, profile: unknown): void {
  if (profile === undefined) return
  const fields = object(argument, profile)
  checkNames(argument, fields, PROFILE_OPTIONS)
  oneOf(`${argument}.pending`, fields.pending, PENDING)
  for (const name of PROFILE_FLAGS) boolean(`${argument}.${name}`, fields[name])
}

const PENDING = ['mempool', 'preconfirmed', 'latest', 'absent'] as const
const PROFILE_FLAGS: readonly string[] = ['pendingState', 'blockReceipts', 'simulateV1']

function checkGroupPolicy(policy: unknown): void {
  if (policy === undefined) return
  const { each, named } = object('groups', policy)
  checkNames('groups', policy as object, GROUP_POLICY)
  checkShare('groups.each', each)
  if (named === undefined) return
  for (const [group, share] of Object.entries(object('groups.named', named))) {
    checkGroup('groups.named', group)
    checkShare(`groups.named[${JSON.stringify(group)}]`, share)
  }
}

/** A share below a thousandth, or above a thousandfold, has no practical effect. */
const WEIGHT_MIN = 0.001
const WEIGHT_MAX = 1_000

function checkShare(argument: string, share: unknown): void {
  if (share === undefined) return
  const { weight, queueMax, inFlightMax } = object(argument, share)
  checkNames(argument, share as object, GROUP_SHARE)
  const isSound = typeof weight === 'number' && weight >= WEIGHT_MIN && weight <= WEIGHT_MAX
  if (weight !== undefined && !isSound)
    throw invalid(`${argument}.weight`, weight, `a number from ${WEIGHT_MIN} to ${WEIGHT_MAX}`)
  whole(`${argument}.queueMax`, queueMax, 1, MS_MAX)
  whole(`${argument}.inFlightMax`, inFlightMax, 1, MS_MAX)
}

function checkLossDepth(depth: unknown): void {
  if (depth === undefined || depth === 'child' || depth === 'safe') return
  if (typeof depth === 'number' && Number.isInteger(depth) && depth >= 1 && depth <= 10_000) return
  throw invalid('lossDepth', depth, "'child', 'safe' or a number of blocks from 1 to 10000")
}

const FINALITY_DEPTH_MAX = 10_000_000

function checkFinality(finality: unknown): void {
  if (finality === undefined) return
  const { depth, afterMs } = object('finality', finality)
  checkNames('finality', finality as object, FINALITY_OPTIONS)
  if ((depth === undefined) === (afterMs === undefined))
    throw invalid('finality', finality, 'either depth (blocks) or afterMs (milliseconds)')
  whole('finality.depth', depth, 1, FINALITY_DEPTH_MAX)
  whole('finality.afterMs', afterMs, 1, MS_MAX)
}

const STORE_VERBS: Record<Exclude<keyof Store, 'kind' | 'durable'>, true> = {
  chains: true,
  acquire: true,
  renew: true,
  release: true,
  report: true,
  reports: true,
  unfinished: true,
  counters: true,
  load: true,
  write: true,
  enqueue: true,
  restart: true,
  postCommand: true,
  arrivals: true,
  changes: true,
  watch: true,
  find: true,
  list: true,
  takeOutbox: true,
  releaseOutbox: true,
  writeOutbox: true,
  readOutbox: true,
  deliveries: true,
  close: true,
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

/** Checks for a local account, which can sign without the node. */
export function checkAccount(account: unknown, argument = 'account'): asserts account is LocalAccount {
  const { type, address: own, signTransaction } = object(argument, account)
  if (type === 'smart')
    throw unsupported('smart accounts', 'send user operations with a nonce from createNonceAllocator')
  if (type === 'json-rpc')
    throw unsupported('json-rpc accounts, which sign by sending', 'use a local account')
  address(`${argument}.address`, own)
  if (type !== 'local' || typeof signTransaction !== 'function')
    throw invalid(argument, account, 'a local account that signs transactions')
}

/** Merges `limits` with the defaults. Each limit must be a positive whole number. */
export function checkLimits(limits: Partial<Limits> | undefined, defaults: Limits): Limits {
  const merged = { ...defaults }
  if (limits === undefined) return merged
  for (const [name, value] of Object.entries(object('limits', limits))) {
    if (value === undefined) continue
    if (!Object.hasOwn(defaults, name)) throw unknownName('limits', name, value, Object.keys(defaults))
    whole(`limits.${name}`, value, 1, MS_MAX)
    merged[name as keyof Limits] = value as number
  }
  return merged
}

/** The default limits of a lane (P9). */
export const defaultLimits: Limits = {
  queueMax: 100_000,
  window: 64,
  windowMax: 2_048,
  delegatedMax: 1,
  batchMax: 1_000,
  requestsMax: 4,
  prepareMax: 200,
  signMax: 100,
  sendTimeoutMs: 10_000,
  readTimeoutMs: 5_000,
  readyTimeoutMs: 30_000,
  receiptPatienceMs: 600_000,
  restMsMax: 60_000,
  requestsPerSecond: undefined,
  callsPerSecond: undefined,
  responseBytesMax: RESPONSE_BYTES_MAX,
  gapFillAfterMs: 1_000,
  fillsMax: 16,
  stuckAfterBlocks: 2,
  stuckAfterMs: 2_000,
  evidencePatienceMs: 600_000,
  resendMax: 64,
  reservationTtlMs: 120_000,
  closeTimeoutMs: 10_000,
  pollIntervalMs: 200,
  reorgHorizon: 64,
  seedSpanMax: 1_024,
  coldStartMaxMs: 30_000,
}
