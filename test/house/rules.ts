import { builtinModules } from 'node:module'
import ts from 'typescript'
import { type Import, lineOf, type Source, walk } from './sources.js'

/** Checks all sources at once and reports each violation of the rule in one line. */
export type Rule = (sources: readonly Source[]) => readonly string[]

// A value may be imported only from a lower row. Parts in one row are siblings and do not import each other.
const LAYERS: readonly (readonly string[])[] = [
  [
    'clock',
    'errors',
    'eventTypes',
    'feeTypes',
    'healthTypes',
    'laneTypes',
    'lazy',
    'onAbort',
    'soon',
    'txTypes',
    'types',
    'waitTypes',
  ],
  ['ledger'],
  ['rpc', 'store'],
  ['allocator', 'delivery', 'tracker'],
  ['sender'],
  ['viem', 'ethers', 'opentelemetry', 'outbox', 'recorder', 'signer'],
  // Signs with the results of the signer.
  ['kms'],
  ['index'],
  // Uses the package as its users do.
  ['cli'],
]

// Isolated: only the command line imports it, and it imports only the lowest layer.
const DEVNET = 'devnet'

/** `ledger` for src/ledger/book.ts, `clock` for src/clock.ts, undefined outside src. */
function partOf(path: string): string | undefined {
  return /^src\/([^/]+?)(?:\.ts)?(?:\/|$)/.exec(path)?.[1]
}

function layerOf(part: string): number {
  return LAYERS.findIndex((parts) => parts.includes(part))
}

function isTest(path: string): boolean {
  return /\.(?:test|fixture|bench)\.ts$/.test(path)
}

/** Production code: the code that is published or run, without the tests beside it. */
function production(sources: readonly Source[]): readonly Source[] {
  return sources.filter(({ path }) => path.startsWith('src/') && !isTest(path))
}

export const importsPointDownwards: Rule = (sources) =>
  production(sources).flatMap(({ path, imports }) => {
    const part = partOf(path) ?? ''
    if (layerOf(part) < 0 && part !== DEVNET) return [`${path}: no layer is known for "${part}"`]
    return imports
      .filter(({ target, typeOnly }) => !typeOnly && target.startsWith('src/'))
      .filter(({ target }) => !mayImport(part, partOf(target) ?? ''))
      .map(({ target, line }) => `${path}:${line} imports ${target}`)
  })

function mayImport(from: string, to: string): boolean {
  if (from === to) return true
  if (to === DEVNET) return from === 'cli'
  if (from === DEVNET) return layerOf(to) === 0
  const [own, other] = [layerOf(from), layerOf(to)]
  return other < own || (own === 0 && other === 0)
}

// The folders of the sender, in the order of a transaction's way through them. Files beside the folders are
// open to all.
const SENDER_LAYERS: readonly (readonly string[])[] = [
  ['reasons'],
  ['nodes'],
  ['input', 'transaction'],
  ['signing'],
  ['broadcast', 'following', 'intake'],
  ['engine'],
  ['lane'],
  ['allocators', 'pool', 'records'],
]

/** `intake` for src/sender/intake/line.ts, undefined for files beside the folders. */
function senderPartOf(path: string): string | undefined {
  return /^src\/sender\/([^/]+)\//.exec(path)?.[1]
}

function senderLayerOf(part: string): number {
  return SENDER_LAYERS.findIndex((parts) => parts.includes(part))
}

export const partsOfTheSenderPointDownwards: Rule = (sources) =>
  production(sources).flatMap(({ path, imports }) => {
    const part = senderPartOf(path)
    if (part === undefined) return []
    if (senderLayerOf(part) < 0) return [`${path}: no layer of the sender is known for "${part}"`]
    return values(imports)
      .filter(({ target }) => senderLayerOf(senderPartOf(target) ?? '') > senderLayerOf(part))
      .map(({ target, line }) => `${path}:${line} imports ${target}`)
  })

/** Types may not be imported either, so that the devnet can be removed without other changes. */
export const nothingButTheCliKnowsTheDevnet: Rule = (sources) =>
  production(sources)
    .filter(({ path }) => !['cli', DEVNET].includes(partOf(path) ?? ''))
    .flatMap(({ path, imports }) =>
      imports
        .filter(({ target }) => partOf(target) === DEVNET)
        .map(({ target, line }) => `${path}:${line} imports ${target}`),
    )

/** Files that choose implementations for a service: the defaults of a sender, and the ports of a lane. */
const WIRING = new Set(['src/sender/environment.ts', 'src/sender/nodes/clientPortsOf.ts'])
const IMPLEMENTATION =
  /^src\/(?:rpc\/ports\/(?:http|webSocket|custom|fromClient)\.ts|store\/(?:memory|sqlite|postgres))/

export const servicesKnowInterfacesOnly: Rule = (sources) =>
  production(sources)
    .filter(
      ({ path }) => ['allocator', 'tracker', 'sender'].includes(partOf(path) ?? '') && !WIRING.has(path),
    )
    .flatMap(({ path, imports }) =>
      imports
        .filter(({ target, typeOnly }) => !typeOnly && IMPLEMENTATION.test(target))
        .map(({ target, line }) => `${path}:${line} imports ${target}`),
    )

const TIMERS = new Set(['setTimeout', 'setInterval', 'setImmediate'])
const MEMBERS = new Set([
  'Date.now',
  'Math.random',
  'performance.now',
  'crypto.randomUUID',
  'crypto.getRandomValues',
])

/**
 * Time and randomness come from the clock, so that the real sender runs in virtual time and replays from a
 * seed.
 */
export const timeAndChanceAreInjected: Rule = (sources) =>
  production(sources)
    .filter(({ path }) => path !== 'src/clock.ts')
    .flatMap(({ path, tree }) => {
      const found: string[] = []
      walk(tree, (node) => {
        const use = useOfTime(node)
        if (use !== undefined) found.push(`${path}:${lineOf(tree, node)} uses ${use}`)
      })
      return found
    })

/**
 * Elapsed time is not measured by the wall clock, because it can step. The wall clock may be read in these
 * files: for a deadline from a caller, for a timestamp that is stored or shown, for dates in answers, and to
 * notice that the machine slept.
 */
const WALL_CLOCK: ReadonlySet<string> = new Set([
  'src/clock.ts',
  'src/allocator/holds.ts',
  'src/rpc/ports/http.ts',
  'src/sender/intake/admission.ts',
  'src/sender/intake/intake.ts',
  'src/sender/intake/wallDeadlines.ts',
  'src/sender/intake/order.ts',
  'src/sender/lane/spentInRecords.ts',
  'src/sender/lane/storeTrouble.ts',
  'src/sender/nodes/trouble.ts',
  'src/sender/opening.ts',
  'src/sender/engine/waitReasons.ts',
  'src/sender/engine/reservations.ts',
  'src/sender/transaction/attempts.ts',
  'src/sender/transaction/transaction.ts',
  'src/outbox/courier.ts',
  'src/outbox/verifyWebhook.ts',
  'src/outbox/webhook.ts',
  'src/recorder/recorder.ts',
  'src/kms/service.ts',
  'src/devnet/faults/faults.ts',
  'src/devnet/start.ts',
  'src/cli/send/command.ts',
])

export const elapsedTimeIsMonotonic: Rule = (sources) =>
  production(sources)
    .filter(({ path }) => !WALL_CLOCK.has(path))
    .flatMap(({ path, tree }) => {
      const found: string[] = []
      walk(tree, (node) => {
        if (ts.isPropertyAccessExpression(node) && node.name.text === 'wallNow')
          found.push(`${path}:${lineOf(tree, node)} looks at the wall clock`)
      })
      return found
    })

function useOfTime(node: ts.Node): string | undefined {
  if (ts.isNewExpression(node) && ts.isIdentifier(node.expression) && node.expression.text === 'Date') {
    return node.arguments?.length ? undefined : 'new Date()'
  }
  if (ts.isPropertyAccessExpression(node)) {
    const text = `${lastName(node.expression)}.${node.name.text}`
    return MEMBERS.has(text) ? text : undefined
  }
  if (!ts.isIdentifier(node) || !TIMERS.has(node.text)) return undefined
  const { parent } = node
  const ofAnother =
    ts.isPropertyAccessExpression(parent) &&
    parent.name === node &&
    lastName(parent.expression) !== 'globalThis'
  const named = (ts.isPropertyAssignment(parent) || ts.isMethodSignature(parent)) && parent.name === node
  return ofAnother || named ? undefined : node.text
}

function lastName(node: ts.Expression): string {
  if (ts.isIdentifier(node)) return node.text
  return ts.isPropertyAccessExpression(node) ? node.name.text : ''
}

// The parts that a pure part may import, beside itself.
const PURE_PARTS: ReadonlyMap<string, readonly string[]> = new Map([
  ['ledger', ['errors']],
  ['delivery', ['errors', 'ledger']],
])

/** The state machine's table and the delivery are pure: they neither wait nor read the time. */
export const pureParts: Rule = (sources) =>
  production(sources).flatMap(({ path, tree, imports }) => {
    const part = partOf(path) ?? ''
    const allowed = PURE_PARTS.get(part)
    if (allowed === undefined) return []
    const found = values(imports)
      .filter(({ target }) => ![part, ...allowed].includes(partOf(target) ?? ''))
      .map(({ target, line }) => `${path}:${line} imports ${target}`)
    walk(tree, (node) => {
      const waits = ts.isAwaitExpression(node) || node.kind === ts.SyntaxKind.AsyncKeyword
      if (waits) found.push(`${path}:${lineOf(tree, node)} waits`)
    })
    return found
  })

const ROOT_ENTRY = 'src/index.ts'
const ROOT_PACKAGES = /^(?:viem(?:\/.*)?|async-mutex|p-queue)$/
const NODE_GLOBALS = new Set(['process', 'Buffer', '__dirname', '__filename', 'require', 'global'])

/** The root runs on Bun, Deno, workers and in browsers. */
export const theRootRunsAnywhere: Rule = (sources) => {
  const byPath = new Map(sources.map((source) => [source.path, source]))
  const found: string[] = []
  for (const path of reachable(byPath, ROOT_ENTRY)) {
    const source = byPath.get(path)
    if (source === undefined) continue
    for (const { target, line } of values(source.imports)) {
      if (!target.startsWith('src/') && !ROOT_PACKAGES.test(target))
        found.push(`${path}:${line} imports ${target}`)
    }
    walk(source.tree, (node) => {
      if (ts.isIdentifier(node) && NODE_GLOBALS.has(node.text) && isFree(node)) {
        found.push(`${path}:${lineOf(source.tree, node)} uses ${node.text}`)
      }
    })
  }
  return found
}

function values(imports: readonly Import[]): readonly Import[] {
  return imports.filter(({ typeOnly }) => !typeOnly)
}

/** All modules that a module loads, including itself. */
export function reachable(byPath: ReadonlyMap<string, Source>, entry: string): ReadonlySet<string> {
  const reached = new Set<string>()
  const open = [entry]
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (reached.has(path)) continue
    reached.add(path)
    for (const { target } of values(byPath.get(path)?.imports ?? []))
      if (target.startsWith('src/')) open.push(target)
  }
  return reached
}

/** False for the name of a member, a property or a declaration, because those do not refer to a global. */
function isFree(node: ts.Identifier): boolean {
  const { parent } = node
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node
  return !(parent as { name?: ts.Node }).name || (parent as { name?: ts.Node }).name !== node
}

/** Node's own modules are imported with their scheme; without it bundlers look for a package of that name. */
export const nodeModulesAreNamedAsSuch: Rule = (sources) =>
  sources.flatMap(({ path, imports }) =>
    imports
      .filter(({ target }) => builtinModules.includes(target))
      .map(({ target, line }) => `${path}:${line} imports ${target} without node:`),
  )

export const nothingIsExportedAsDefault: Rule = (sources) =>
  production(sources).flatMap(({ path, tree }) => {
    const found: string[] = []
    walk(tree, (node) => {
      const named = ts.isExportSpecifier(node) && node.name.text === 'default'
      if (named || ts.isExportAssignment(node) || node.kind === ts.SyntaxKind.DefaultKeyword) {
        // `default:` of a switch is another node kind: DefaultClause carries no DefaultKeyword child.
        found.push(`${path}:${lineOf(tree, node)} exports a default`)
      }
    })
    return found
  })

const LINES_MAX = 400

export const filesAreShort: Rule = (sources) =>
  sources
    .filter(({ path }) => path.startsWith('src/'))
    .map(({ path, text }) => ({ path, lines: text.trimEnd().split('\n').length }))
    .filter(({ lines }) => lines > LINES_MAX)
    .map(({ path, lines }) => `${path} has ${lines} lines`)

// Composed, so that this file does not break its own rule.
const LEFTOVER = new RegExp(`\\b(?:${['TO' + 'DO', 'FIX' + 'ME', 'X'.repeat(3), 'HA' + 'CK'].join('|')})\\b`)

export const nothingIsLeftForLater: Rule = (sources) =>
  sources.flatMap(({ path, text }) =>
    text
      .split('\n')
      .flatMap((line, index) => (LEFTOVER.test(line) ? [`${path}:${index + 1} ${line.trim()}`] : [])),
  )

// A test that is skipped, exclusive or retried hides the fault that it was written to show.
const EVASIONS = new RegExp(
  `\\b(?:it|test|describe)\\.(?:${['on' + 'ly', 'to' + 'do', 'fa' + 'ils'].join('|')})\\b|\\bre${'try'}:\\s*[1-9]`,
)

export const testsDoNotEvade: Rule = (sources) =>
  sources
    .filter(({ path }) => path.endsWith('.test.ts'))
    .flatMap(({ path, text }) =>
      text
        .split('\n')
        .flatMap((line, index) => (EVASIONS.test(line) ? [`${path}:${index + 1} ${line.trim()}`] : [])),
    )
