import type { Claim } from '../claim.js'

type Load = () => Promise<{ readonly claim: Claim }>

/**
 * Each claim is loaded in the process that measures it, so that its dependencies are not in the heap of
 * another claim.
 */
const CLAIMS = {
  burst: () => import('./burst.js'),
  requests: () => import('./requests.js'),
  nodes: () => import('./nodes.js'),
  delivery: () => import('./delivery.js'),
  latency: () => import('./latency.js'),
  signing: () => import('./signing.js'),
  kms: () => import('./kms.js'),
  detection: () => import('./detection.js'),
  sync: () => import('./sync.js'),
  tracking: () => import('./tracking.js'),
  memory: () => import('./memory.js'),
  lanes: () => import('./lanes.js'),
  durable: () => import('./durable.js'),
  intake: () => import('./intake.js'),
  allocator: () => import('./allocator.js'),
  classify: () => import('./classify.js'),
  groups: () => import('./groups.js'),
  payout: () => import('./payout.js'),
  payoutPack: () => import('./payoutPack.js'),
} as const satisfies Record<string, Load>

export type ClaimName = keyof typeof CLAIMS

export const CLAIM_NAMES = Object.keys(CLAIMS) as ClaimName[]

export function isClaimName(name: string): name is ClaimName {
  return Object.hasOwn(CLAIMS, name)
}

export async function loadClaim(name: ClaimName): Promise<Claim> {
  return (await CLAIMS[name]()).claim
}
