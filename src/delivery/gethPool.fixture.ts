/**
 * geth's pool of transactions, reduced to nonces of equal price (`core/txpool/legacypool` of go-ethereum, August 2026):
 * `add` puts a transaction into the account's queue, and `reorganise`, which runs some time after the answer, promotes
 * what is executable, cuts the queue and the pool to their limits, and says nothing of what it dropped.
 */
export type GethPool = {
  add(account: string, nonce: number): 'added' | 'known' | 'low' | 'underpriced'
  reorganise(): void
  /** A block used all nonces of the account below `nonce`. */
  advance(account: string, nonce: number): void
  /** `eth_getTransactionCount` at `pending`. */
  count(account: string): number
  /** Executable nonces, in order. */
  pending(account: string): readonly number[]
  queued(account: string): readonly number[]
  /** Transactions that were dropped after `add` had returned `added`. */
  readonly dropped: number
}

export type GethLimits = {
  readonly accountSlots: number
  readonly globalSlots: number
  readonly accountQueue: number
  readonly globalQueue: number
}

export const GETH_LIMITS: GethLimits = {
  accountSlots: 16,
  globalSlots: 4_096 + 1_024,
  accountQueue: 64,
  globalQueue: 1_024,
}

type Account = {
  /** The account's nonce in the chain's state. */
  nonce: number
  /** Contiguous from `nonce` on. */
  pending: number[]
  queue: Set<number>
  /** geth's `pendingNonces`, which follows the state after a reset. */
  next: number
  isDirty: boolean
  beat: number
}

export function createGethPool(limits: GethLimits = GETH_LIMITS): GethPool {
  const accounts = new Map<string, Account>()
  let beats = 0
  let dropped = 0

  function accountOf(name: string): Account {
    const known = accounts.get(name)
    if (known) return known
    const account = { nonce: 0, pending: [], queue: new Set<number>(), next: 0, isDirty: false, beat: 0 }
    accounts.set(name, account)
    return account
  }

  const all = () => [...accounts.values()]
  const isPending = ({ pending }: Account, nonce: number) => {
    const first = pending[0]
    return first !== undefined && nonce >= first && nonce < first + pending.length
  }
  const slots = () => all().reduce((sum, { pending, queue }) => sum + pending.length + queue.size, 0)
  const sorted = (queue: ReadonlySet<number>) => [...queue].sort((a, b) => a - b)

  function drop(account: Account, nonce: number): void {
    account.queue.delete(nonce)
    dropped++
  }

  /** `queue.promoteExecutables` and `promoteTx`. */
  function promote(account: Account): void {
    for (const nonce of account.queue) if (nonce < account.nonce) account.queue.delete(nonce)
    if (account.queue.size === 0) return
    const queue = sorted(account.queue)
    const [lowest] = queue
    // `Ready`: what the queue has from the pending nonce on, without a break.
    if (lowest !== undefined && lowest <= account.next) {
      for (let nonce = lowest; account.queue.delete(nonce); nonce++) {
        if (!isPending(account, nonce)) account.pending.push(nonce)
        account.next = nonce + 1
      }
    }
    // `Cap`: the highest nonces go.
    for (const nonce of sorted(account.queue).slice(limits.accountQueue)) drop(account, nonce)
  }

  /** `truncatePending`: the largest accounts are made equal, one transaction at a time, the highest nonces first. */
  function truncatePending(): void {
    let pending = all().reduce((sum, account) => sum + account.pending.length, 0)
    while (pending > limits.globalSlots) {
      const large = all().filter((account) => account.pending.length > limits.accountSlots)
      const most = Math.max(...large.map((account) => account.pending.length))
      if (large.length === 0) return
      for (const account of large.filter((one) => one.pending.length === most)) {
        const nonce = account.pending.pop() as number
        account.next = Math.min(account.next, nonce)
        dropped++
        pending--
      }
    }
  }

  /** `queue.truncate`: of the accounts that have waited longest, the highest nonces go. */
  function truncateQueue(): void {
    let excess = all().reduce((sum, { queue }) => sum + queue.size, 0) - limits.globalQueue
    for (const account of all().sort((a, b) => a.beat - b.beat)) {
      for (const nonce of sorted(account.queue).reverse()) {
        if (excess <= 0) return
        drop(account, nonce)
        excess--
      }
    }
  }

  return {
    add(name, nonce) {
      const account = accountOf(name)
      if (isPending(account, nonce) || account.queue.has(nonce)) return 'known'
      if (nonce < account.nonce) return 'low'
      // At equal prices there is nothing cheaper to drop.
      if (slots() + 1 > limits.globalSlots + limits.globalQueue) return 'underpriced'
      account.queue.add(nonce)
      if (account.queue.size === 1) account.beat = ++beats
      account.isDirty = true
      return 'added'
    },
    reorganise() {
      for (const account of all()) {
        if (account.isDirty) promote(account)
        account.isDirty = false
      }
      truncatePending()
      truncateQueue()
    },
    advance(name, nonce) {
      const account = accountOf(name)
      account.nonce = nonce
      // `reset`: the pending nonces are the state's until the end, so that the queue is promoted from there alone.
      account.next = nonce
      promote(account)
      account.pending = account.pending.filter((each) => each >= nonce)
      account.next = Math.max(nonce, (account.pending.at(-1) ?? -1) + 1)
      truncatePending()
      truncateQueue()
    },
    count: (name) => accountOf(name).next,
    pending: (name) => accountOf(name).pending,
    queued: (name) => sorted(accountOf(name).queue),
    get dropped() {
      return dropped
    },
  }
}
