import type { RpcReply } from '../../../src/rpc/port.js'
import { refusals } from '../refusals/index.js'
import type { Expected, Provocation } from '../refusals/names.js'
import type { Provoked, Refusal } from '../refusals/refusal.js'
import type { RunningNode } from '../run/startNode.js'
import { until } from '../tools/lane.js'
import { openWorkbench, type Signed, type Workbench } from '../tools/workbench.js'
import type { Held, NodeCase } from './nodeCase.js'

/**
 * A transaction that some node refuses. The classifier's outcome must match the node's later treatment of
 * the bytes, and the outcome in the node's description.
 */
const refusedCase = (refusal: Refusal): NodeCase => ({
  name: `refused, ${refusal.name}`,
  quick: true,
  isRefusal: true,
  leftOut({ refusals }) {
    const expected = refusals[refusal.name]
    return 'leftOut' in expected ? expected.leftOut : undefined
  },
  async run(setting) {
    if (refusal.needs === undefined) return await provoke(await setting.shared('manual'), refusal)
    const more = refusal.needs === 'smallPool' ? setting.description.tinyPool : undefined
    await using own = await setting.start({ mode: 'manual', more })
    return await provoke(own, refusal)
  },
})

export const refusedCases: readonly NodeCase[] = refusals.map(refusedCase)

async function provoke(running: RunningNode, refusal: Refusal): Promise<Held> {
  await using bench = await openWorkbench(running)
  const provoked = await refusal.provoke(bench)
  const { signed, account } = provoked
  const reply = await bench.send(signed.raw)
  const { outcome, reason, counted, expectedNonce } = bench.outcome(signed, reply)
  const next = await bench.nextNonce(account)
  const expected = running.description.refusals[refusal.name]
  const seen: Provocation = { outcome, reason, counted, fate: await fateOf(bench, signed, expected) }
  const problems = [
    ...(expectedNonce === undefined || expectedNonce === next
      ? []
      : [`expected nonce ${expectedNonce}, not ${next}`]),
    ...differences(seen, expected),
    ...(await consequences(bench, provoked, seen)),
  ]
  const reported = `${outcome}${reason === 'unknown' ? '' : ` ${reason}`}${counted ? ', counted' : ''}; ${seen.fate}`
  return { ok: problems.length === 0, says: [reported + words(reply), ...problems].join('; ') }
}

/**
 * A node drops a transaction only after its answer, and later on a busy machine, so the expected fate is
 * awaited.
 */
async function fateOf(bench: Workbench, { hash }: Signed, expected: Expected): Promise<Provocation['fate']> {
  let fate = await bench.fateOf(hash)
  const isSettled = () => fate === 'mined' || 'leftOut' in expected || fate === expected.fate
  const look = async () => {
    if (!isSettled()) fate = await bench.fateOf(hash)
    return isSettled()
  }
  await until(SETTLED_MS, 'the expected fate', look).catch(() => undefined)
  return fate
}

function differences(seen: Provocation, expected: Expected): readonly string[] {
  if ('leftOut' in expected) return []
  const { because, isRetried = false, ...reported } = expected
  const fate = isRetried && seen.fate === 'mined' ? 'mined' : reported.fate
  const problems = because === undefined ? contradictions(seen) : []
  const wanted = { ...reported, fate }
  const same = (Object.keys(wanted) as (keyof typeof wanted)[]).every((key) => seen[key] === wanted[key])
  return same ? problems : [...problems, `expected ${Object.values(reported).join(' ')}`]
}

/** Contradictions between an outcome and the fate of the bytes. */
function contradictions({ outcome, fate }: Provocation): readonly string[] {
  if (outcome === 'unknown') return ['the classifier does not know these words']
  if (outcome === 'accepted') return fate === 'absent' ? ['taken, and nowhere'] : []
  return fate === 'absent' ? [] : ['refused, and not gone']
}

/** Further promises of an outcome, each tried on the node. */
async function consequences(bench: Workbench, provoked: Provoked, seen: Provocation): Promise<string[]> {
  const { signed, account, cure, rival, free } = provoked
  const problems: string[] = []
  const expect = async (holds: Promise<boolean>, problem: string) => {
    if (!(await holds)) problems.push(problem)
  }
  if (rival !== undefined) {
    const lost = seen.fate === 'mined' ? 'absent' : 'mined'
    await expect(is(bench.fateOf(rival.hash), lost), `its rival is not ${lost}`)
  }
  if (seen.outcome === 'intrinsic' || seen.counted)
    await expect(saysAgain(bench, provoked, seen), 'another word the second time')
  if (cure !== undefined && seen.fate !== 'mined') {
    await cure()
    // A pool may follow its chain with a delay, and a node that answers with the hash may have dropped the
    // bytes. Its answer to another copy proves nothing: the first copy may be in the pool or in a block by
    // then.
    const isMined = async () => {
      if (seen.fate === 'absent') await bench.send(signed.raw)
      return (await bench.fateOf(signed.hash)) === 'mined'
    }
    await until(TAKEN_MS, 'a block with it once nothing prevents its inclusion', isMined)
  }
  if (free !== undefined && seen.fate === 'absent') {
    const next = await bench.sign(account, { nonce: free, value: 3n })
    await bench.take(next)
    await expect(is(bench.fateOf(next.hash), 'mined'), 'its nonce is not free')
  }
  return problems
}

async function is<t>(fate: Promise<t>, wanted: t): Promise<boolean> {
  return (await fate) === wanted
}

async function saysAgain(bench: Workbench, { signed }: Provoked, seen: Provocation): Promise<boolean> {
  const again = bench.outcome(signed, await bench.send(signed.raw))
  return again.outcome === seen.outcome && again.reason === seen.reason
}

const SETTLED_MS = 10_000
const TAKEN_MS = 5_000
const WORDS_MAX = 140

function words(reply: RpcReply): string {
  if (reply.ok) return ''
  const { failure } = reply
  const code = 'code' in failure ? `${failure.code} ` : `${failure.kind} `
  const text = failure.message.replace(/\s+/g, ' ')
  return ` (${code}${text.length > WORDS_MAX ? `${text.slice(0, WORDS_MAX)}…` : text})`
}
