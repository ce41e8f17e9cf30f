import type { SimChain } from './chain/simChain.js'
import { createFinalityJudge, type FinalityJudge } from './finality.js'
import type { LoadJudge } from './load.js'
import type { Plan } from './plan.js'
import type { OnAnswer } from './port/replicas.js'
import { lacksTag } from './tagPlan.js'

export function makeFinalityJudge(plan: Plan, chain: SimChain): FinalityJudge {
  return createFinalityJudge({
    chain,
    finality: plan.finality,
    lacks: (tag) => lacksTag(plan, tag),
    isTagJudged: plan.ports.some(({ tags }) => tags !== undefined),
  })
}

/** Passes each request and its answers on to the judges of a world. */
export function answersTo({
  finality,
  load,
  onAnswer,
}: {
  readonly finality: FinalityJudge
  readonly load: LoadJudge
  readonly onAnswer: OnAnswer | undefined
}): OnAnswer {
  return (name, calls, replies, askedMs) => {
    finality.answered(calls, replies)
    load.asked(name, calls, askedMs)
    onAnswer?.(name, calls, replies, askedMs)
  }
}
