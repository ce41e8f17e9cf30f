import { type Fate, TxlaneError } from '../../errors/base.js'
import { hasEndedUnexecuted } from '../../store/ended.js'
import type { Stage } from '../../types/index.js'

export function fateOf(stage: Stage): Fate {
  if (hasEndedUnexecuted(stage)) return 'notExecuted'
  return stage === 'sealed' || stage === 'safe' || stage === 'finalized' ? 'executed' : 'inFlight'
}

export function closedError(): TxlaneError {
  return new TxlaneError('The sender is closed.', { code: 'CLOSED', fate: 'notExecuted' })
}

/** Throws the same error, with the fate `inFlight` and a line that says that an earlier send of the id is possible. */
export function unknownOf(id: string): (error: unknown) => never {
  const line = `Whether ${id} was sent before is not known: its records could not be read.`
  return (error) => {
    if (!(error instanceof TxlaneError) || error.metaMessages?.includes(line)) throw error
    const { code, shortMessage } = error
    throw new TxlaneError(shortMessage, { code, fate: 'inFlight', cause: error, metaMessages: [line] })
  }
}

export function drainAborted(): TxlaneError {
  return new TxlaneError('The drain was aborted; the lane goes on.', { code: 'ABORTED', fate: 'inFlight' })
}
