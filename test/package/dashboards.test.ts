import { readFileSync } from 'node:fs'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { readSources, walk } from '../house/sources.js'

// Files that operators copy must name existing metrics. A test beside the instruments checks that
// docs/metrics.md lists all metrics, and no others.

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

type Metric = { readonly name: string; readonly kind: string; readonly attributes: readonly string[] }

const metrics = [
  ...read('docs/metrics.md').matchAll(/^\| `(txlane\.[\w.]+)` +\| (\w+) +\| [^|]*\| ([^|]*)\|/gm),
].map(([, name = '', kind = '', attributes = '']): Metric => {
  const full = attributes.replaceAll('`….', '`txlane.endpoint.')
  return { name, kind, attributes: [...full.matchAll(/`([\w.]+)`/g)].map(([, one = '']) => one) }
})

/** The names that OpenTelemetry's exporter for Prometheus produces. */
const seriesOf = ({ name, kind }: Metric): readonly string[] => {
  const base = name.replaceAll('.', '_')
  if (kind === 'counter') return [`${base}_total`]
  return kind === 'histogram' ? [`${base}_bucket`, `${base}_sum`, `${base}_count`] : [base]
}
const byName = new Map(metrics.flatMap((metric) => seriesOf(metric).map((series) => [series, metric])))
const COMMON = ['txlane_chain_id', 'txlane_address', 'instance', 'le']
const labels = new Set([
  ...COMMON,
  ...metrics.flatMap(({ attributes }) => attributes.map((one) => one.replaceAll('.', '_'))),
])

/** The unknown names in one expression of PromQL. */
function wrong(expression: string): string[] {
  const names = [...expression.matchAll(/\b(?:txlane|error)_\w+/g)].map(([name]) => name)
  const unknown = names.filter((name) => !byName.has(name) && !labels.has(name))
  const misplaced = [...expression.matchAll(/\b(txlane_\w+)\{([^}]*)\}/g)].flatMap(
    ([, name = '', inner = '']) => {
      const own = byName.get(name)?.attributes.map((one) => one.replaceAll('.', '_')) ?? []
      const asked = [...inner.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label)
      return asked
        .filter((label) => !COMMON.includes(label) && !own.includes(label))
        .map((one) => `${name}{${one}}`)
    },
  )
  return [...unknown, ...misplaced]
}

type Rule = {
  readonly alert: string
  readonly expr: string
  readonly annotations: { readonly summary: string }
}
type Panel = {
  readonly id: number
  readonly title: string
  readonly description: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[]
}

const { groups } = parse(read('examples/prometheus/alerts.yml')) as { groups: readonly { rules: Rule[] }[] }
const rules = groups.flatMap((group) => group.rules)
const { panels, templating } = JSON.parse(read('examples/prometheus/dashboard.json')) as {
  panels: readonly Panel[]
  templating: { list: readonly { name: string }[] }
}

test('the names in docs/metrics.md are read', () => {
  expect(byName.size).toBeGreaterThan(20)
  expect([...labels]).toEqual(
    expect.arrayContaining(['txlane_stage', 'error_type', 'txlane_endpoint_change']),
  )
  expect(wrong('sum(txlane_in_flights) / txlane_queued{txlane_stage="x"}')).toEqual([
    'txlane_in_flights',
    'txlane_queued{txlane_stage}',
  ])
})

describe('the alert rules', () => {
  test.each(rules)('$alert names existing metrics and attributes', ({ expr, annotations }) => {
    expect(
      byName.has([...expr.matchAll(/txlane_\w+/g)].map(([name]) => name).find((n) => byName.has(n)) ?? ''),
    ).toBe(true)
    expect(wrong(expr)).toEqual([])
    expect(annotations.summary).not.toBe('')
    const shown = [...annotations.summary.matchAll(/\$labels\.(\w+)/g)].map(([, label = '']) => label)
    expect(shown.filter((label) => !labels.has(label))).toEqual([])
  })

  test('have unique names', () => {
    expect(rules.length).toBeGreaterThan(8)
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length)
  })
})

describe('the dashboard', () => {
  test.each(panels)('$title names existing metrics and attributes', ({ targets, description }) => {
    expect(targets.length).toBeGreaterThan(0)
    expect(description).not.toBe('')
    for (const { expr, legendFormat } of targets) {
      expect(wrong(expr), expr).toEqual([])
      const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label)
      for (const label of shown) expect(expr, 'every label of a legend is kept').toContain(label)
    }
  })

  test('shows every metric, uses only its own variables, and no panel covers another', () => {
    const text = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)).join('\n')
    const shown = metrics.filter((metric) => seriesOf(metric).some((series) => text.includes(series)))
    expect(shown.map(({ name }) => name)).toEqual(metrics.map(({ name }) => name))
    const variables = new Set(templating.list.map(({ name }) => name))
    const asked = [...text.matchAll(/\$(\w+)/g)].map(([, name = '']) => name)
    expect(asked.filter((name) => !variables.has(name) && name !== '__rate_interval')).toEqual([])
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, n) => `${x + (n % w)}:${y + Math.floor(n / w)}`),
    )
    expect(new Set(cells).size).toBe(cells.length)
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  })
})

describe('the logger', () => {
  const LEVELS: ReadonlySet<string> = new Set(['debug', 'info', 'warn', 'error'])
  // The command line's own lines, and lines that a lane forwards, are not messages of the library.
  const sources = readSources('src').filter(
    ({ path }) => !/\.(?:test|fixture)\.ts$|^src\/(?:cli|devnet)\//.test(path),
  )

  /** The message in a call of a logger: a literal, or one of two. */
  function messages(): string[] {
    const found: string[] = []
    for (const { tree } of sources)
      walk(tree, (node) => {
        if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return
        const { name, expression } = node.expression
        if (!LEVELS.has(name.text) || !/(?:^|\.)logger$/.test(expression.getText(tree))) return
        walk(node.arguments[1] ?? node, (part) => {
          if (ts.isStringLiteral(part)) found.push(part.text)
        })
      })
    return [...new Set(found)]
  }

  test('each of its messages is in the table of docs/operating.md', () => {
    const found = messages()
    expect(found).toEqual(
      expect.arrayContaining(['lane held', 'lane released', 'the endpoint did not answer']),
    )
    const docs = read('docs/operating.md')
    expect(found.filter((message) => !docs.includes(`\`${message}\``))).toEqual([])
  })
})
