import type { FeeValues } from 'viem'
import { invalid } from '../errors/invalid.js'
import { type Fees, replacementFees } from '../ledger/fees.js'
import { newestAttempt } from '../ledger/slot.js'
import type { CancelResult, SendOptions, Tx, TxRequest } from '../types.js'
import { type LaneContext, txError } from './context.js'
import type { Intake } from './intake.js'
import type { Signing } from './signing.js'
import { hasReached, type Transaction } from './transaction.js'
import type { TxOperations } from './txFace.js'
import { checkAccountOf, checkFees, checkRequest, checkSendOptions, unsupported } from './validate.js'
import { closedError, type Waiting } from './waiting.js'

/** What the holder of a lane does for callers who have a transaction of it. */
export function createHolderOperations(parts: {
  context: LaneContext
  intake: Intake
  signing: Signing
  waiting: Waiting
}): TxOperations {
  const { context, intake, signing, waiting } = parts
  const { lane } = context

  async function cancel(transaction: Transaction): Promise<CancelResult> {
    for (;;) {
      if (transaction.failure) return ended(transaction)
      if (transaction.settled) return tooLate(transaction)
      checkWatched(transaction)
      const error = txError(transaction, 'CANCELLED', 'notExecuted', 'It was cancelled before it was sent.')
      if (intake.remove(transaction, error)) {
        await kept(transaction)
        return { result: 'removed' }
      }
      const slot = transaction.nonce === undefined ? undefined : lane.book.get(transaction.nonce)
      if (slot?.state !== 'reserved') break
      // A commit in flight counts as journaled: its answer says which of the two it is.
      await lane.journal.flushed()
    }
    intake.askEnd(transaction)
    await verdict(transaction)
    if (transaction.failure) return ended(transaction)
    if (!transaction.settled) checkWatched(transaction)
    return tooLate(transaction)
  }

  /** After close nobody signs, sends or follows the chain any more. */
  function checkWatched(transaction: Transaction): void {
    if (context.closed) throw closedError(transaction)
  }

  function verdict(transaction: Transaction): Promise<void> {
    if (transaction.endKept || transaction.settled || context.closed) return Promise.resolve()
    context.waits++
    context.hub.tracker.wake()
    return new Promise<void>((resolve) => {
      transaction.verdicts = [...(transaction.verdicts ?? []), resolve]
    }).finally(() => {
      context.waits--
    })
  }

  /** That it ended is told once it is in the store: a crash would undo it (P5). */
  async function kept(transaction: Transaction): Promise<void> {
    await verdict(transaction)
    if (!transaction.endKept) checkWatched(transaction)
  }

  async function ended(transaction: Transaction): Promise<CancelResult> {
    await kept(transaction)
    const code = transaction.failure?.code
    return {
      result: code === 'CANCELLED' || code === 'REJECTED' || code === 'SUPERSEDED' ? 'cancelled' : 'removed',
    }
  }

  async function tooLate(transaction: Transaction): Promise<CancelResult> {
    return { result: 'tooLate', landed: await waiting.wait(transaction, 'sealed', {}) }
  }

  async function replace(transaction: Transaction, request: TxRequest, options: SendOptions): Promise<Tx> {
    checkRequest(request, context.hub.chain)
    checkAccountOf(request, lane.key.address)
    checkSendOptions(options)
    checkOpen(transaction, 'replace')
    checkWatched(transaction)
    const replacement = await intake.add(request, options, transaction)
    if (options.until !== 'queued') await waiting.accepted(replacement)
    return context.txOf(replacement)
  }

  async function speedUp(transaction: Transaction, wanted: Partial<FeeValues> | undefined): Promise<void> {
    if (wanted !== undefined) checkFees(wanted)
    const slot = transaction.nonce === undefined ? undefined : lane.book.get(transaction.nonce)
    checkOpen(transaction, 'bump')
    checkWatched(transaction)
    if (transaction.outside)
      throw unsupported(
        'speedUp() of bytes that were signed outside the lane',
        'commit bytes that offer more',
      )
    // Nothing is journaled yet: it is on its way with the fees of the market.
    if (slot?.state !== 'live') return
    if (wanted !== undefined) signing.prefer(slot.nonce, enough(slot, wanted))
    lane.apply(slot.nonce, { type: 'speedUp' })
  }

  /** Fees that a pool would take as a replacement, or an error that says what it takes. */
  function enough(slot: Parameters<typeof newestAttempt>[0], wanted: Partial<FeeValues>): Fees {
    const newest = newestAttempt(slot)
    const ceiling = { maxFeePerGas: 2n ** 255n }
    const least = newest && replacementFees(newest.fees, { rule: context.fees.rule, ceiling })
    if (least === undefined) return { maxFeePerGas: 0n, maxPriorityFeePerGas: 0n }
    if ('gasPrice' in least) return { gasPrice: atLeast(wanted.gasPrice, least.gasPrice, 'fees.gasPrice') }
    return {
      maxFeePerGas: atLeast(wanted.maxFeePerGas, least.maxFeePerGas, 'fees.maxFeePerGas'),
      maxPriorityFeePerGas: atLeast(
        wanted.maxPriorityFeePerGas,
        least.maxPriorityFeePerGas,
        'fees.maxPriorityFeePerGas',
      ),
    }
  }

  return {
    cancel,
    replace,
    speedUp,
    wait: waiting.wait,
    attempts: (transaction) => attemptsOf(context, transaction),
  }
}

/** What has landed or ended cannot be changed any more. */
function checkOpen(transaction: Transaction, what: 'replace' | 'bump'): void {
  if (!transaction.failure && !hasReached(transaction, 'sealed')) return
  const fate = hasReached(transaction, 'sealed')
    ? 'executed'
    : transaction.endKept
      ? 'notExecuted'
      : 'inFlight'
  const message = `It is ${transaction.stage} already: there is nothing to ${what}.`
  throw txError(transaction, 'TOO_LATE', fate, message)
}

function attemptsOf(context: LaneContext, transaction: Transaction): Tx['attempts'] {
  const slot = transaction.nonce === undefined ? undefined : context.lane.book.get(transaction.nonce)
  return (slot?.attempts ?? [])
    .filter((attempt) => attempt.claim === transaction.id)
    .map(({ hash, fees }) => ({ nonce: slot?.nonce ?? -1, hash, fees: fees as FeeValues }))
}

function atLeast(wanted: bigint | undefined, least: bigint, argument: string): bigint {
  if (wanted === undefined || wanted >= least) return wanted ?? least
  throw invalid(argument, wanted, `at least ${least} wei, which is what a pool takes as a replacement`)
}
