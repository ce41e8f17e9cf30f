import { type Change, GAS } from '../items.js'
import { programRequest } from '../program.js'
import type { SubjectTx } from '../subjectTypes.js'
import { type Calls, failed } from './calls.js'
import type { Inquiries } from './inquiries.js'
import { DEARER } from './requests.js'
import type { Work } from './work.js'

/** Plans how the caller changes its mind: cancels, replaces or speeds up a transaction that it has sent. */
export type ChangeLater = (marker: number, tx: SubjectTx, change: Change) => void

export function createChanges({ asked, tell, plan }: Calls, inquiries: Inquiries, work: Work): ChangeLater {
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
      tell(marker, late ? 'executed' : 'notExecuted', `cancel ${cancelled.result}`, true)
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
