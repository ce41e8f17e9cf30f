import type { Address, Chain, Client, NonceManager } from 'viem'
import {
  createNonceAllocatorIn,
  type NonceAllocator,
  type NonceAllocatorParameters,
} from '../api/allocators/allocator.js'
import { systemEnvironment } from '../api/systemEnvironment.js'
import type { Environment } from '../chain/environment.js'
import { TxlaneError } from '../errors/base.js'
import type { CancelTimer } from '../platform/clock.js'

/** What `viemNonceManager` takes. */
export type ViemNonceManagerParameters = Pick<NonceAllocatorParameters, 'store' | 'limits' | 'logger'> & {
  /**
   * Whether the first nonce waits until the account's count stands still (`settle`). viem does not.
   * @default 'immediate'
   */
  coldStart?: 'settle' | 'immediate' | undefined
}

/** viem's `NonceManager`, with an end. */
export type ViemNonceManager = NonceManager & {
  /** Lets go of every lane. The next nonce asked for opens it again. */
  close(): Promise<void>
}

type Key = { address: Address; chainId: number }
type Used = {
  readonly allocator: NonceAllocator
  /** Nonces being asked for. */
  asking: number
  idle: CancelTimer | undefined
}

// Long enough for a burst to go on, short enough that a script ends soon after its last transaction.
const IDLE_MS = 2_000
// viem would wait for ever: a lane under a hold gives no nonces, and viem has no way to say so.
const WAIT_MS_MAX = 60_000

/**
 * Nonces for viem's own sending actions, from the lane that senders and allocators of the same account share.
 *
 * Better than viem's manager: concurrent sends get consecutive nonces and share one reading of the chain; a reading
 * that failed is not kept; a node that loses an answer, or whose `pending` count does not show what is in its pool,
 * does not make it hand out a nonce twice; transactions that leave by a sender of the account are counted.
 *
 * NOT guaranteed, since a plug-in cannot:
 * - that there are no gaps (P3). viem takes the nonce first and estimates, signs and sends after it; when one of them
 *   fails, the nonce is left behind, and what has a higher one waits in the pool.
 * - that it learns how sending went. viem tells of failures only, and calls `reset` for all of them, time limits
 *   included. So `reset` means *unknown* here: the nonce may be on its way, and is never handed out again. A
 *   `createSender` of the same account in this process fills it once it has been silent for
 *   `limits.reservationTtlMs`; without one it stays, until something else uses it.
 * - that what was sent is sent again, or bumped: the bytes are not known.
 *
 * Where these matter, use `createSender`, or `walletClient.extend(laneActions(sender))`.
 *
 * A lane that was not asked for some seconds is let go of, so that a script can end, and read anew with the next.
 *
 * @example
 * const account = privateKeyToAccount(key, { nonceManager: createViemNonceManager() })
 * const client = createWalletClient({ account, chain: base, transport: http() })
 * const hashes = await Promise.all(payouts.map((payout) => client.sendTransaction(payout)))
 */
export function createViemNonceManager(parameters: ViemNonceManagerParameters = {}): ViemNonceManager {
  return createViemNonceManagerIn(systemEnvironment(), parameters)
}

/** `createViemNonceManager` in a given environment: for simulations. */
export function createViemNonceManagerIn(
  environment: Environment,
  parameters: ViemNonceManagerParameters,
): ViemNonceManager {
  const { clock } = environment
  const used = new Map<string, Used>()
  const clients = new Map<string, Client>()
  const closings = new Set<Promise<void>>()

  /** viem may use one account with clients of several endpoints: each lane has those of the client that came first. */
  function usedBy({ address, chainId, client }: Key & { client: Client }): Used {
    const key = keyOf({ address, chainId })
    clients.set(key, client)
    const known = used.get(key)
    if (known) return known
    const allocator = createNonceAllocatorIn(environment, {
      coldStart: 'immediate',
      ...parameters,
      client: { ...client, chain: chainOf(client, chainId) } as unknown as NonceAllocatorParameters['client'],
      address,
    })
    const fresh: Used = { allocator, asking: 0, idle: undefined }
    used.set(key, fresh)
    return fresh
  }

  async function ask<T>(
    key: Key & { client: Client },
    work: (allocator: NonceAllocator) => Promise<T>,
  ): Promise<T> {
    const entry = usedBy(key)
    entry.asking++
    entry.idle?.()
    try {
      return await work(entry.allocator)
    } finally {
      entry.asking--
      if (entry.asking === 0) entry.idle = clock.setTimer(() => letGo(keyOf(key), entry), IDLE_MS)
    }
  }

  function letGo(key: string, entry: Used): void {
    entry.idle?.()
    if (used.get(key) === entry) used.delete(key)
    const closing = entry.allocator.close().catch(() => {})
    closings.add(closing)
    void closing.then(() => closings.delete(closing))
  }

  /** What viem does with the nonce is seen on the chain only: nothing is kept of the reservation. */
  async function take(allocator: NonceAllocator): Promise<number> {
    const controller = new AbortController()
    const cancel = clock.setTimer(() => controller.abort(), WAIT_MS_MAX)
    try {
      const { nonce } = await allocator.reserve({ signal: controller.signal })
      return nonce
    } catch (error) {
      throw controller.signal.aborted ? heldError(allocator, error) : error
    } finally {
      cancel()
    }
  }

  return {
    consume: (key) => ask(key, take),
    get: (key) =>
      ask(key, async (allocator) => {
        await allocator.ready()
        const { holes, cursor } = allocator.snapshot()
        return holes[0] ?? cursor
      }),
    increment(key) {
      // viem's own actions do not call it. Without a client that has asked before there is no chain to read.
      const client = clients.get(keyOf(key))
      if (client) void ask({ ...key, client }, take).catch(() => {})
    },
    // Unknown: see above. The chain has the last word, and the lane asks it as long as the nonce is open.
    reset() {},
    async close() {
      for (const [key, entry] of [...used]) letGo(key, entry)
      await Promise.all(closings)
    },
  }
}

const keyOf = ({ address, chainId }: Key): string => `${address.toLowerCase()}.${chainId}`

/** The chain that viem asks for may be one that was given with the request, or none at all. */
function chainOf(client: Client, chainId: number): Chain {
  const { chain } = client
  if (chain?.id === chainId) return chain
  return {
    id: chainId,
    name: `chain ${chainId}`,
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [] } },
  }
}

function heldError(allocator: NonceAllocator, cause: unknown): TxlaneError {
  const holds = holdsOf(allocator)
  return new TxlaneError(
    `No nonce for ${WAIT_MS_MAX} ms${holds.length > 0 ? `: the lane is held (${holds.join(', ')})` : ''}.`,
    {
      code: 'BLOCKED',
      fate: 'notExecuted',
      cause,
    },
  )
}

function holdsOf(allocator: NonceAllocator): readonly string[] {
  try {
    return allocator.snapshot().holds
  } catch {
    return []
  }
}
