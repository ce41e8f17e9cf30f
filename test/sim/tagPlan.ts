import type { Random } from '../../src/platform/clock.js'
import type { SimChain } from './chain/simChain.js'
import { type Tag, type TagRule, type Tags, taggedBlock } from './chain/tags.js'
import { CHILD_MS, type LossDepth } from './chainPlan.js'
import type { Item } from './items.js'
import type { Plan } from './plan.js'
import type { PortPlan } from './portPlan.js'
import { between, chance, pick } from './random.js'

/** A finality that the user declares for a chain without the tag. */
export type Finality = { readonly depth: number } | { readonly afterMs: number }

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const SHARE = 0.6
/** A caller's patience with a tag that may not come in time, and the longest lag of one that does. */
const TAG_PATIENCE_MS = 30_000
const SOON_MS = 40_000

/** Tags that lag in time, in some worlds, each in its own way at each endpoint. */
export function drawTags(
  random: Random,
  ports: readonly PortPlan[],
  { lossDepth, always }: { readonly lossDepth: LossDepth; readonly always: boolean },
): PortPlan[] {
  if (!chance(random, SHARE) && !always) return [...ports]
  // A verdict waits for `safe` in such a world, and the world for the verdict.
  const isWaited = lossDepth === 'safe'
  const safeMs = drawLagMs(random, [2, 8, 20, 60], isWaited ? 0.9 : 0.7, [2, 5])
  const safeStepMs = pick(random, [200, 1_000, 2_000, 12_000])
  const safe = moving(safeMs, safeStepMs)
  const moreMs = drawLagMs(random, [2, 8, 60, 180], 0.7, [13, 20])
  // No node shows a final block that is not safe.
  const finalized = moving(safeMs + safeStepMs + moreMs, pick(random, [1_000, 6_000, 12_000]))
  const oddOne = chance(random, 0.5) ? between(random, 0, ports.length - 1) : undefined
  const odd: Tags = chance(random, 0.6) ? { safe, finalized } : drawOdd(random, { safe, finalized }, isWaited)
  return ports.map((port, index) => ({
    ...port,
    tags: oddOne === undefined || oddOne === index ? odd : { safe, finalized },
  }))
}

function moving(lagMs: number, stepMs: number): TagRule & { kind: 'moving' } {
  return { kind: 'moving', lagMs, stepMs }
}

/** Some seconds with the given probability, else some more, or minutes. */
function drawLagMs(
  random: Random,
  [few, more, many, most]: readonly [number, number, number, number],
  share: number,
  minutes: readonly [number, number],
): number {
  if (chance(random, share)) return between(random, few * SECOND_MS, more * SECOND_MS)
  if (chance(random, 0.5) || share === 0.9) return between(random, many * SECOND_MS, most * SECOND_MS)
  return between(random, minutes[0] * MINUTE_MS, minutes[1] * MINUTE_MS)
}

/** No such tags, or tags that stand still. */
function drawOdd(
  random: Random,
  { safe, finalized }: Record<Tag, TagRule & { kind: 'moving' }>,
  isWaited: boolean,
): Tags {
  const none = { kind: pick(random, ['null', 'error'] as const) }
  const stuckMs = between(random, 0, 20_000)
  return pick<Tags>(random, [
    { safe: none, finalized: none },
    { safe: none, finalized: none },
    { safe, finalized: none },
    { safe: isWaited ? safe : { ...safe, stuckMs }, finalized: { ...finalized, stuckMs } },
  ])
}

/** Some callers wait for a tag. Drawn separately, so that everything else stays the same for a seed. */
export function drawTagWaits(random: Random, items: readonly Item[]): Item[] {
  const share = pick(random, [0, 0.3, 1])
  return items.map((item) =>
    chance(random, share) ? { ...item, stage: pick(random, ['safe', 'finalized'] as const) } : item,
  )
}

/** The declaration of the user, in some of the worlds in which an endpoint has no `finalized` tag. */
export function drawFinality(random: Random, ports: readonly PortPlan[]): Finality | undefined {
  if (ports.every(({ tags }) => hasTag(tags, 'finalized')) || chance(random, 0.5)) return undefined
  return chance(random, 0.5)
    ? { depth: between(random, 10, 30) }
    : { afterMs: between(random, 4_000, 20_000) }
}

const hasTag = (tags: Tags | undefined, tag: Tag) =>
  tags?.[tag].kind !== 'null' && tags?.[tag].kind !== 'error'

/** True if an endpoint that is read has no such tag. */
export function lacksTag({ ports }: Pick<Plan, 'ports'>, tag: Tag): boolean {
  return ports.some(({ role, tags }) => role !== 'send' && !hasTag(tags, tag))
}

/** How long a caller waits for a tag; undefined if the tag reaches every block soon. */
export function tagPatienceMs({ ports }: Plan, tag: Tag): number | undefined {
  const isSoon = ports
    .filter(({ role }) => role !== 'send')
    .every(({ tags, lies }) => {
      const rule = tags?.[tag]
      if (lies) return false
      if (rule?.kind !== 'moving') return rule === undefined
      return rule.stuckMs === undefined && rule.lagMs + rule.stepMs <= SOON_MS
    })
  return isSoon ? undefined : TAG_PATIENCE_MS
}

/**
 * The newest blocks that a reorg may replace now: at most those that are above every tag of every endpoint and,
 * with `child`, the newest one and those that are too young.
 */
export function reorgDepthNow(chain: SimChain, plan: Plan, deep: boolean): number {
  const { canonical, head, settings } = chain
  const view = chain.view()
  const genesisMs = canonical[0]?.timestampMs ?? 0
  const tags: readonly Tag[] = deep ? ['finalized'] : ['safe', 'finalized']
  const tagged = plan.ports.flatMap((port) =>
    tags.map((tag) => {
      const rule = port.tags?.[tag]
      return rule === undefined ? 0 : (taggedBlock(view, genesisMs, rule)?.number ?? 0)
    }),
  )
  const aboveTags = head.number - Math.max(...tagged)
  if (deep || plan.kind !== 'fastBlocks' || plan.lossDepth !== 'child') return aboveTags
  const nowMs = settings.clock.now()
  const young = canonical.filter(({ timestampMs }) => nowMs - timestampMs < CHILD_MS).length
  return Math.min(aboveTags, Math.max(1, young))
}
