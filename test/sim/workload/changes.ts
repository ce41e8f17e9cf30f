import { type Hash, type Hex, keccak256 } from 'viem'
import { idOf } from '../ids.js'
import { type Change, GAS, type Item } from '../items.js'
import { signOutside } from '../outside.js'
import { programRequest } from '../program.js'
import type { SubjectTx } from '../subjectTypes.js'
import { type Calls, failed, type Inquiries } from './calls.js'
import { DEARER } from './requests.js'

/** Plans how the caller changes its mind: cancels, replaces or speeds up a transaction that it has sent. */
type ChangeLater = (marker: number, tx: SubjectTx, change: Change) => void

export function createChanges({ asked, report, plan }: Calls, inquiries: Inquiries, work: Work): ChangeLater {
  async function change(
    marker: number,
    tx: SubjectTx,
    { action, marker: next, dear }: Change,
  ): Promise<void> {
    if (action === 'speedUp') {
      await asked(marker, 'speedUp', () => tx.speedUp(dear && DEARER))
    } else if (action === 'cancel') {
      const cancelled = await asked(marker, 'cancel', () => tx.cancel())
      if (failed(cancelled)) return
      const late = cancelled.result === 'tooLate'
      report(marker, late ? 'executed' : 'notExecuted', `cancel ${cancelled.result}`, true)
    } else {
      await replace(tx, next)
    }
  }

  async function replace(tx: SubjectTx, marker: number): Promise<void> {
    work.began(marker, () => resumeReplacement(marker))
    const id = work.idOf(marker)
    const request = { ...programRequest({ kind: 'call', marker }), gas: GAS }
    const replaced = await asked(marker, 'replace', () => tx.replace(request, { id }))
    const found = !failed(replaced)
      ? replaced
      : replaced.fate === 'inFlight'
        ? await inquiries.again(marker, id)
        : undefined
    await inquiries.followFound(marker, found, 'sealed')
    work.finished(marker)
  }

  /**
   * The transaction to be replaced is no longer known. Unless the replacement was admitted, it must never
   * happen.
   */
  async function resumeReplacement(marker: number): Promise<void> {
    await inquiries.followFound(marker, await inquiries.again(marker, work.idOf(marker)), 'sealed')
    work.finished(marker)
  }

  return (marker, tx, each) =>
    plan(`the ${each.action} of ${marker}, as ${each.marker}`, each.afterMs, () => change(marker, tx, each))
}

/** Outside code that signs and sends its own transactions, with nonces that it reserves. */
type OutsideCode = {
  run(item: Item): Promise<void>
  /** The hash of a marker's transaction, which identifies it; undefined for transactions of the lane. */
  hashOf(marker: number): Hash | undefined
}

export function createOutsideCode(
  { asked }: Calls,
  inquiries: Inquiries,
  work: Work,
  { chainId, post }: { readonly chainId: number; readonly post: (raw: Hex) => Promise<Error | undefined> },
): OutsideCode {
  const hashes = new Map<number, Hash>()

  /** Bytes that the lane does not have were not sent either, so they can never land. */
  async function follow(marker: number, hash: Hash): Promise<void> {
    await inquiries.followFound(marker, await inquiries.again(marker, { hash }), 'sealed')
    work.finished(marker)
  }

  return {
    async run({ marker, program, outside: how }) {
      const reservation = await asked(marker, 'reserve', (from) => from.reserve())
      // A reservation without a commit ends with its process.
      if (failed(reservation)) return
      if (how === 'forget') return
      if (how === 'release') return void (await asked(marker, 'release', () => reservation.release()))
      const serializedTransaction = await signOutside({ chainId, nonce: reservation.nonce, program })
      if (how === 'silent') return void (await post(serializedTransaction))
      const hash = keccak256(serializedTransaction)
      hashes.set(marker, hash)
      work.began(marker, () => follow(marker, hash))
      const committed = await asked(marker, 'commit', () => reservation.commit({ serializedTransaction }))
      if (!failed(committed)) {
        const error = await post(serializedTransaction)
        await asked(marker, 'settle', () => reservation.settle(error))
      }
      await follow(marker, hash)
    },
    hashOf: (marker) => hashes.get(marker),
  }
}

/** The transactions that the caller wants, and its unfinished work on them. */
type Work = {
  /** The markers of real requests: a replacement that was never requested is not among them. */
  readonly markers: ReadonlySet<number>
  idOf(marker: number): string
  /** Adds a marker. Each member of a sequence has an id with its place. */
  wants(marker: number, id?: string): void
  /** Adds a marker whose work the caller of the next process has to resume. */
  began(marker: number, resume: () => Promise<void>): void
  finished(marker: number): void
  resumeAll(): void
}

export function createWork(): Work {
  const markers = new Set<number>()
  const ids = new Map<number, string>()
  const unfinished = new Map<number, () => Promise<void>>()
  return {
    markers,
    idOf: (marker) => ids.get(marker) ?? idOf(marker),
    wants(marker, id) {
      markers.add(marker)
      if (id !== undefined) ids.set(marker, id)
    },
    began(marker, resume) {
      markers.add(marker)
      unfinished.set(marker, resume)
    },
    finished: (marker) => void unfinished.delete(marker),
    resumeAll() {
      for (const resume of [...unfinished.values()]) void resume()
    },
  }
}
