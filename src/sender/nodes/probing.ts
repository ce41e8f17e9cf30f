import type { Chain, Hash } from 'viem'
import type { CancelTimer, Clock } from '../../clock.js'
import { TxlaneError } from '../../errors/base.js'
import { chainMismatch } from '../../rpc/errors.js'
import { identityCalls, probeEndpoint, showsChain } from '../../rpc/probe.js'
import type { Limits } from '../../types.js'
import type { HubEndpoint } from './hub.js'
import { isWorthAsking, tryAgain } from './tryAgain.js'

/** Holds endpoints against the chain that is asked for, and against each other. */
export type Prober = {
  genesis(): Hash | undefined
  /** For a chain of which no endpoint shows block 0 now. @throws `CHAIN_MISMATCH` where it is known to have another one */
  expect(genesis: Hash): void
  /** A wrong chain anywhere is an error at once; an endpoint that does not answer is left out for now. */
  first(): Promise<void>
  /** What asks an endpoint which chain it is on, and what the answers mean. */
  readonly identity: {
    readonly calls: typeof identityCalls
    /** Undefined where they say nothing. */
    holds(replies: Parameters<typeof showsChain>[0]): boolean | undefined
  }
  /** Asks those that are left out, less and less often, until they answer as they should. */
  again(): void
  stop(): void
}

const AGAIN_MS = 1_000
const AGAIN_MS_MAX = 60_000

export function createProber(parts: {
  readonly endpoints: readonly HubEndpoint[]
  readonly chain: Chain
  readonly limits: Limits
  readonly clock: Clock
  /** One that was left out answers as it should. */
  readonly answered: (endpoint: HubEndpoint) => void
}): Prober {
  const { endpoints, chain, limits, clock } = parts
  let genesis: Hash | undefined
  let cancel: CancelTimer | undefined
  let delayMs = AGAIN_MS
  let stopped = false

  async function probe(endpoint: HubEndpoint): Promise<void> {
    const found = await probeEndpoint(endpoint.port, {
      expectChainId: chain.id,
      expectGenesisHash: genesis,
      profile: endpoint.profile,
      timeoutMs: limits.readTimeoutMs,
    })
    // Never from one that only sends: whether it answers, today, would name the lane.
    if (endpoint.role !== 'send') genesis ??= found.genesisHash
    endpoint.probed = true
  }

  async function probeRest(): Promise<void> {
    const failures: unknown[] = []
    // Readers first: they tell what the others are held against.
    const only = (sends: boolean) => endpoints.filter(({ role }) => (role === 'send') === sends)
    for (const endpoint of [...only(false), ...only(true)]) {
      if (endpoint.probed) continue
      try {
        await probe(endpoint)
      } catch (error) {
        if (error instanceof TxlaneError && error.code === 'CHAIN_MISMATCH') throw error
        // Private endpoints often serve nothing but sends: there is no chain id to hold against ours.
        if (endpoint.role === 'send') endpoint.probed = true
        else failures.push(error)
      }
    }
    // What the lane is called may not hang on who happened to answer: another may know the genesis.
    const nameless = genesis === undefined && failures.length > 0
    if (nameless || endpoints.every((endpoint) => !endpoint.probed)) throw unreachable(failures)
  }

  async function round(): Promise<void> {
    for (const endpoint of endpoints) {
      if (endpoint.probed || stopped) continue
      // A chain id that does not fit keeps it out as well, for as long as it answers so.
      await probe(endpoint).then(
        () => parts.answered(endpoint),
        () => {},
      )
    }
    delayMs = Math.min(AGAIN_MS_MAX, delayMs * 2)
    cancel = undefined
    plan()
  }

  function plan(): void {
    if (stopped || cancel !== undefined || endpoints.every((endpoint) => endpoint.probed)) return
    cancel = clock.setTimer(() => void round(), delayMs)
  }

  return {
    genesis: () => genesis,
    expect(wanted) {
      genesis ??= wanted
      if (genesis !== wanted) throw chainMismatch('the endpoints', 'genesis hash', wanted, genesis)
    },
    first: () => tryAgain(probeRest, { clock, stopped: () => stopped }),
    identity: { calls: identityCalls, holds: (replies) => showsChain(replies, chain.id, genesis) },
    again() {
      delayMs = AGAIN_MS
      plan()
    },
    stop() {
      stopped = true
      cancel?.()
    },
  }
}

/** For the first failure after which asking again is worth it, if there is one. */
function unreachable(failures: readonly unknown[]): TxlaneError {
  const cause = failures.find(isWorthAsking) ?? failures[0]
  return new TxlaneError('No endpoint answered.', { code: 'REJECTED', fate: 'notExecuted', cause })
}
