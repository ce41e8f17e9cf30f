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

/** The parameters of `createViemNonceManager`. */
export type ViemNonceManagerParameters = Pick<NonceAllocatorParameters, 'store' | 'limits' | 'logger'> & {
  /**
   * Whether the first nonce waits until the account's count settles (`settle`). viem does not wait.
   * @default 'immediate'
   */
  coldStart?: 'settle' | 'immediate' | undefined
}

/** viem's `NonceManager`, which can be closed. */
export type ViemNonceManager = NonceManager & {
  /** Releases every lane. The next requested nonce opens it again. */
  close(): Promise<void>
}

type Key = { address: Address; chainId: number }
type Used = {
  readonly allocator: NonceAllocator
  /** The number of open requests for nonces. */
  asking: number
  idle: CancelTimer | undefined
}

// Long enough for a burst to continue, short enough that a script ends soon after its last transaction.
const IDLE_MS = 2_000
// A limit, because viem would wait for ever: a lane with a hold gives no nonces, and viem has no way to
// report that.
const WAIT_MS_MAX = 60_000

/**
 * Nonces for viem's own sending actions, from the lane that senders and allocators of the same account share.
 *
 * Improvements over viem's manager: concurrent sends get consecutive nonces and share one reading of the
 * chain. A failed reading is not cached. A node that loses an answer, or whose `pending` count excludes its
 * pool, does not make it assign a nonce twice. Transactions that a sender of the account sends are counted.
 *
 * NOT guaranteed, because a plug-in cannot guarantee it:
 *
 * - that there are no gaps (P3). viem takes the nonce first, and estimates, signs and sends afterwards. If
 *   one of these fails, the nonce remains unused, and transactions with higher nonces wait in the pool.
 * - that it learns the result of the send. viem reports failures only, and calls `reset` for all of them,
 *   including timeouts. So `reset` means *unknown* here: the transaction may be in flight, and the nonce is
 *   never assigned again. A `createSender` of the same account in this process fills it once it has been
 *   silent for `limits.reservationTtlMs`; otherwise it stays open until another transaction uses it.
 * - that sent transactions are resent or bumped, because their bytes are not known.
 *
 * If you need these, use `createSender`, or `walletClient.extend(laneActions(sender))`.
 *
 * A lane without requests for some seconds is released, so that a script can end, and is read again with the
 * next request.
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

  /**
   * viem may use one account with clients of several endpoints. Each lane uses the endpoints of the first
   * client.
   */
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

  /** The result of viem's send is visible on the chain only, so no reservation is kept. */
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
      // viem's own actions do not call it. Without an earlier client there is no chain to read.
      const client = clients.get(keyOf(key))
      if (client) void ask({ ...key, client }, take).catch(() => {})
    },
    // viem calls this after a failed send, whose result is unknown. The chain decides, and the lane reads it as long
    // as the nonce is open.
    reset() {},
    async close() {
      for (const [key, entry] of [...used]) letGo(key, entry)
      await Promise.all(closings)
    },
  }
}

const keyOf = ({ address, chainId }: Key): string => `${address.toLowerCase()}.${chainId}`

/** The chain of viem's request may have been given with the request, or may be missing in the client. */
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
