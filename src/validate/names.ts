import type { Chain } from 'viem'
import { editDistance, type Names, nearestName, unknownName } from '../errors/checkNames.js'
import type {
  CancelOptions,
  Endpoint,
  EndpointProfileInput,
  FeeBudget,
  FeeChange,
  FeePolicy,
  GroupPolicy,
  GroupShare,
  LaneOptions,
  ListOptions,
  SendManyOptions,
  SendOptions,
  WaitOptions,
} from '../types/index.js'

// The names that exist, which the types keep complete. The options of a pool, an allocator and a sender differ in a few.

export const LANE_OPTIONS = {
  endpoints: true,
  store: true,
  fees: true,
  lossDepth: true,
  finality: true,
  broadcast: true,
  logger: true,
  coldStart: true,
  starved: true,
  order: true,
  groups: true,
  limits: true,
  simulate: true,
  gasMultiplier: true,
} satisfies Names<LaneOptions<Chain>>

export const FINALITY_OPTIONS = { depth: true, afterMs: true } as const

export const SENDER_OPTIONS = { ...LANE_OPTIONS, client: true, account: true } as const

export const ENDPOINT_OPTIONS = {
  client: true,
  role: true,
  fetchFn: true,
  profile: true,
} satisfies Names<Endpoint>

export const PROFILE_OPTIONS = {
  pending: true,
  pendingState: true,
  blockReceipts: true,
  simulateV1: true,
} satisfies Names<EndpointProfileInput>

export const FEE_CHANGE = {
  ceiling: true,
  preset: true,
  groups: true,
  budget: true,
} satisfies Names<FeeChange>
export const FEE_POLICY = { ...FEE_CHANGE, estimate: true, bump: true } satisfies Names<FeePolicy>
export const BUDGET_OPTIONS = { perHourWei: true, perDayWei: true } satisfies Names<FeeBudget>
export const BUMP_OPTIONS = {
  percent: true,
  attemptsMax: true,
} satisfies Names<NonNullable<FeePolicy['bump']>>

export const GROUP_POLICY = { each: true, named: true } satisfies Names<GroupPolicy>
export const GROUP_SHARE = {
  weight: true,
  queueMax: true,
  inFlightMax: true,
} satisfies Names<GroupShare>

export const FEES = {
  gasPrice: true,
  maxFeePerGas: true,
  maxPriorityFeePerGas: true,
  maxFeePerBlobGas: true,
} as const

export const SEND_OPTIONS = {
  id: true,
  again: true,
  until: true,
  expires: true,
  onExpiry: true,
  signal: true,
  timeoutMs: true,
  priority: true,
  order: true,
  starved: true,
  feeCeiling: true,
  feePreset: true,
  private: true,
  after: true,
  afterStage: true,
  afterStatus: true,
  deploys: true,
  effect: true,
  affinity: true,
  group: true,
} satisfies Names<SendOptions>

export const SEND_MANY_OPTIONS = {
  until: true,
  signal: true,
  onProgress: true,
} satisfies Names<SendManyOptions>

export const WAIT_OPTIONS = {
  timeoutMs: true,
  signal: true,
  throwOnRevert: true,
} satisfies Names<WaitOptions>

export const CANCEL_OPTIONS = { timeoutMs: true, signal: true } satisfies Names<CancelOptions>
export const LIST_OPTIONS = {
  stage: true,
  group: true,
  account: true,
  createdAfter: true,
  createdBefore: true,
  limit: true,
  cursor: true,
} satisfies Names<ListOptions>

/** viem's fields of a request, those of its chains included, and the lane's own. */
const REQUEST = {
  account: true,
  from: true,
  chain: true,
  chainId: true,
  to: true,
  data: true,
  value: true,
  gas: true,
  nonce: true,
  type: true,
  accessList: true,
  authorizationList: true,
  authorize: true,
  ...FEES,
  dataSuffix: true,
  // Other checks refuse these with a message of their own: blobs, and the fields of zkSync.
  blobs: true,
  blobVersionedHashes: true,
  sidecars: true,
  kzg: true,
  paymaster: true,
  paymasterInput: true,
  gasPerPubdata: true,
  factoryDeps: true,
  // Celo and the OP stack.
  feeCurrency: true,
  sourceHash: true,
  mint: true,
  isSystemTx: true,
} as const

/** The names of other libraries for fields of viem. */
const SYNONYMS: Readonly<Record<string, string>> = { gasLimit: 'gas', input: 'data', customData: 'data' }
/**
 * The maximum number of letters by which a mistyped name differs from a known one. Other unknown names may be fields
 * that a chain adds.
 */
const TYPING_ERROR_MAX = 2

/**
 * A chain with its own serializer or request format may have further fields. For such a chain an unknown name is refused only
 * if it is close to a known one.
 */
export function checkRequestNames(fields: object, chain: Chain): void {
  const isOpen =
    chain.serializers?.transaction !== undefined || chain.formatters?.transactionRequest !== undefined
  for (const name in fields) {
    if (Object.hasOwn(REQUEST, name)) continue
    const value = (fields as Record<string, unknown>)[name]
    if (value === undefined) continue
    const names = Object.keys(REQUEST)
    const synonym = Object.hasOwn(SYNONYMS, name) ? SYNONYMS[name] : undefined
    const isTypingError = editDistance(name, nearestName(name, names)) <= TYPING_ERROR_MAX
    if (synonym === undefined && isOpen && !isTypingError) continue
    throw unknownName('request', name, value, synonym === undefined ? names : [synonym])
  }
}
