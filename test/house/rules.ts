import { builtinModules } from 'node:module'
import ts from 'typescript'
import { type Import, lineOf, type Source, walk } from './sources.js'

/** Checks all sources at once and reports each violation of the rule in one line. */
export type Rule = (sources: readonly Source[]) => readonly string[]

function isTest(path: string): boolean {
  return /\.(?:test|fixture|bench)\.ts$/.test(path)
}

/** Production code: the code that is published or run, without the tests beside it. */
export function production(sources: readonly Source[]): readonly Source[] {
  return sources.filter(({ path }) => /^(?:src|tools)\//.test(path) && !isTest(path))
}

/** `ledger` for src/ledger/book.ts, `cli` for tools/cli/main.ts; undefined for other files. */
function partOf(path: string): string | undefined {
  return /^(?:src|tools)\/([^/]+)\//.exec(path)?.[1]
}

/** Types may not be imported either, so that the devnet can be removed without other changes. */
export const nothingButTheCliKnowsTheDevnet: Rule = (sources) =>
  production(sources)
    .filter(({ path }) => !['cli', 'devnet'].includes(partOf(path) ?? ''))
    .flatMap(({ path, imports }) =>
      imports
        .filter(({ target }) => partOf(target) === 'devnet')
        .map(({ target, line }) => `${path}:${line} imports ${target}`),
    )

/** The folders of the library that the devnet may use. */
const DEVNET_MAY_USE: readonly string[] = ['errors', 'platform', 'types']

export const theDevnetStandsApart: Rule = (sources) =>
  production(sources)
    .filter(({ path }) => partOf(path) === 'devnet')
    .flatMap(({ path, imports }) =>
      imports
        .filter(({ target }) => /^(?:src|tools)\//.test(target))
        .filter(({ target }) => !['devnet', ...DEVNET_MAY_USE].includes(partOf(target) ?? ''))
        .map(({ target, line }) => `${path}:${line} imports ${target}`),
    )

/** Files that choose implementations for a service: the defaults of a sender, and the ports of a lane. */
const WIRING = new Set(['src/chain/environment.ts', 'src/chain/endpoints/clientPortsOf.ts'])
const SERVICES: readonly string[] = ['allocator', 'chain', 'lane', 'ownership', 'api']
const IMPLEMENTATION =
  /^src\/(?:rpc\/transports\/(?:http|webSocket|custom|fromClient)\.ts|store\/(?:memory|sqlite|postgres))/

export const servicesKnowInterfacesOnly: Rule = (sources) =>
  production(sources)
    .filter(({ path }) => SERVICES.includes(partOf(path) ?? '') && !WIRING.has(path))
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
    .filter(({ path }) => path !== 'src/platform/clock.ts')
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
  'src/platform/clock.ts',
  'src/allocator/holds.ts',
  'src/rpc/transports/http.ts',
  'src/lane/admission/newTransaction.ts',
  'src/lane/admission/withdrawals.ts',
  'src/lane/queue/order.ts',
  'src/ownership/recoverLane.ts',
  'src/lane/session/laneSession.ts',
  'src/chain/endpoints/trouble.ts',
  'src/ownership/openOnce.ts',
  'src/lane/engine/waitReasons.ts',
  'src/lane/engine/externalNonces.ts',
  'src/lane/transaction/attempts.ts',
  'src/lane/transaction/changes.ts',
  'src/outbox/deliveryWorker.ts',
  'src/outbox/verifyWebhook.ts',
  'src/outbox/webhook.ts',
  'src/recorder/recorder.ts',
  'src/kms/service.ts',
  'tools/devnet/faults/faults.ts',
  'tools/devnet/start.ts',
  'tools/cli/send/errand.ts',
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

/** The public surface of the package. */
export const ROOT_ENTRY = 'src/index.ts'
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

const ENGINE: readonly string[] = ['allocator', 'chain', 'delivery', 'lane', 'ledger', 'ownership']

/**
 * The files of the engine's folders that an import of the root loads at once: the shell of `createSender` and of
 * allocators, which accepts listeners and calls before the engine is loaded.
 */
export const SHELL: ReadonlySet<string> = new Set([
  'src/allocator/sources.ts',
  'src/chain/environment.ts',
  'src/lane/emitter.ts',
  'src/lane/session/closedError.ts',
  'src/lane/session/feeSettings.ts',
  'src/lane/transaction/caller.ts',
  'src/lane/transaction/printedAs.ts',
  'src/lane/transaction/txInternals.ts',
  'src/ledger/nonceMap.ts',
  'src/ledger/slot.ts',
  'src/ownership/earlyListeners.ts',
  'src/ownership/openOnce.ts',
])

const isEngine = (path: string) => ENGINE.includes(partOf(path) ?? '') && !SHELL.has(path)

/** The engine is most of the package. A process that only reads, or only validates, never loads it. */
export const theRootLoadsTheEngineLater: Rule = (sources) => {
  const byPath = new Map(sources.map((source) => [source.path, source]))
  return [...loadedAtOnce(byPath, ROOT_ENTRY)]
    .filter((path) => !isEngine(path))
    .flatMap((path) =>
      staticValues(byPath.get(path)?.imports ?? [])
        .filter(({ target }) => isEngine(target))
        .map(({ target, line }) => `${path}:${line} imports ${target} statically`),
    )
}

function values(imports: readonly Import[]): readonly Import[] {
  return imports.filter(({ typeOnly }) => !typeOnly)
}

/** All modules that a module loads, at once or later, including itself. */
export function reachable(byPath: ReadonlyMap<string, Source>, entry: string): ReadonlySet<string> {
  return follow(byPath, entry, values)
}

/** All modules that an import of the module loads, including itself: without those behind `import()`. */
export function loadedAtOnce(byPath: ReadonlyMap<string, Source>, entry: string): ReadonlySet<string> {
  return follow(byPath, entry, staticValues)
}

function staticValues(imports: readonly Import[]): readonly Import[] {
  return values(imports).filter(({ dynamic }) => !dynamic)
}

function follow(
  byPath: ReadonlyMap<string, Source>,
  entry: string,
  edges: typeof values,
): ReadonlySet<string> {
  const reached = new Set<string>()
  const open = [entry]
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (reached.has(path)) continue
    reached.add(path)
    for (const { target } of edges(byPath.get(path)?.imports ?? []))
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
