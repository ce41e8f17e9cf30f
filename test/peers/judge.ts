import { carriedBy, type Evidence, type Executed } from './evidence.js'
import type { Asked } from './types.js'

/** The possible faults of one payment, or (the last ones) of a run. */
export type Fault =
  | 'paid twice'
  | 'misreported'
  | 'failed, yet paid'
  | 'replaced'
  | 'stuck'
  | 'lost'
  | 'refused'
  | 'reverted'
  | 'unanswered'

export type Verdict = {
  readonly ok: boolean
  /** Short enough for a table cell. */
  readonly words: string
  /** One line for each faulty payment. */
  readonly details: readonly string[]
}

type Finding = { readonly fault: Fault; readonly item: number; readonly detail: string }

const ORDER: readonly Fault[] = [
  'paid twice',
  'failed, yet paid',
  'misreported',
  'replaced',
  'lost',
  'stuck',
  'refused',
  'reverted',
  'unanswered',
]

/**
 * Compares the requested payments with the chain. The chain decides; the sender's answer only decides
 * whether it informed its caller correctly.
 */
export function judge(run: {
  readonly asked: readonly Asked[]
  readonly evidence: Evidence
  readonly refusalsMax: number
  /** Faults that the scenario or the runner found. */
  readonly found: readonly string[]
}): Verdict {
  const { asked, evidence, refusalsMax } = run
  const findings = asked.flatMap((one) => findingOf(one, evidence) ?? [])
  const refused = findings.filter(({ fault }) => fault === 'refused')
  const excused = refused.length <= refusalsMax ? refused.length : 0
  const counted = findings.filter(({ fault }) => excused === 0 || fault !== 'refused')
  const stuck = counted.some(({ fault }) => fault === 'stuck')
  const gap = stuck ? undefined : firstGap(evidence)
  const words = [
    ...run.found,
    ...ORDER.flatMap((fault) => {
      const times = counted.filter((finding) => finding.fault === fault).length
      return times === 0 ? [] : [`${times} ${fault}`]
    }),
    ...(gap === undefined ? [] : [`gap at ${gap}`]),
  ]
  const details = findings.map(({ item, detail }) => `payment ${item} ${detail}`)
  if (words.length > 0) return { ok: false, words: words.join(', '), details }
  const once = asked.length - excused
  return { ok: true, words: excused === 0 ? 'all once' : `${once} once, ${excused} refused`, details }
}

function findingOf(asked: Asked, evidence: Evidence): Finding | undefined {
  const carried = carriedBy(asked.payment)
  const runs = evidence.executed.filter((one) => one.carried === carried)
  const { item } = asked
  const made = (fault: Fault, detail: string): Finding => ({ fault, item, detail })
  const [first, second] = runs
  if (first === undefined) return notExecuted(asked, carried, evidence, made)
  if (second !== undefined)
    return made('paid twice', `ran ${runs.length} times: ${runs.map(shown).join(', ')}`)
  if (first.reverted) return made('reverted', `reverted: ${shown(first)}`)
  return executedOnce(asked, first, made)
}

type Make = (fault: Fault, detail: string) => Finding

function executedOnce(asked: Asked, run: Executed, made: Make): Finding | undefined {
  const reported = asked.reported()
  switch (reported.kind) {
    case 'landed':
      return reported.hash === run.hash
        ? undefined
        : made('misreported', `ran as ${run.hash}, not ${reported.hash}`)
    case 'refused':
      return reported.open ? undefined : made('failed, yet paid', `ran, and its caller got "${reported.why}"`)
    case 'gaveUp':
      return made('failed, yet paid', `ran, and its caller got "${reported.why}"`)
    case 'accepted':
    case 'nothing':
      return made('unanswered', 'ran, and its caller still waits')
    default:
      return reported satisfies never
  }
}

function notExecuted(asked: Asked, carried: string, evidence: Evidence, made: Make): Finding {
  const reported = asked.reported()
  if (reported.kind === 'landed')
    return made('misreported', `never ran, and its caller got a receipt of ${reported.hash}`)
  const waits = evidence.waiting.find(({ hash }) => evidence.seen.get(hash)?.carried === carried)
  if (waits !== undefined) return made('stuck', `waits in the pool with nonce ${waits.nonce}`)
  const by = replacementOf(carried, evidence)
  if (by !== undefined) return made('replaced', `was in the pool, and ${shown(by)} took its place`)
  switch (reported.kind) {
    case 'refused':
      return made(reported.open ? 'lost' : 'refused', `never ran, and its caller got "${reported.why}"`)
    case 'gaveUp':
      return made('lost', `never ran, and its caller got "${reported.why}"`)
    case 'accepted':
      return made('lost', 'was accepted, and is nowhere')
    case 'nothing':
      return made('unanswered', 'never ran, and its caller still waits')
    default:
      return reported satisfies never
  }
}

function replacementOf(carried: string, evidence: Evidence): Executed | undefined {
  const nonces = [...evidence.seen.values()]
    .filter((one) => one.carried === carried)
    .map(({ nonce }) => nonce)
  return evidence.executed.find((one) => one.carried !== carried && nonces.includes(one.nonce))
}

/**
 * The first nonce below the account's count, or below a waiting transaction, that no transaction of the
 * account uses.
 */
function firstGap({ firstNonce, count, executed, waiting }: Evidence): number | undefined {
  const taken = new Set([...executed, ...waiting].map(({ nonce }) => nonce))
  const end = Math.max(count, ...waiting.map(({ nonce }) => nonce + 1))
  for (let nonce = firstNonce; nonce < end; nonce += 1) if (!taken.has(nonce)) return nonce
  return undefined
}

function shown({ hash, nonce }: Executed): string {
  return `${hash} with nonce ${nonce}`
}
