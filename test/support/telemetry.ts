import type { Attributes } from '@opentelemetry/api'
import {
  AggregationTemporality,
  type DataPoint,
  type Histogram,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'

/** OpenTelemetry's own SDK, exporting into memory. */
export type Telemetry = AsyncDisposable & {
  readonly meterProvider: MeterProvider
  readonly tracerProvider: BasicTracerProvider
  /** Spans that have ended, in the order of their end. */
  spans(): readonly ReadableSpan[]
  /** The metrics that are exported now. */
  collect(): Promise<Collected>
}

export type Collected = {
  /**
   * The sum of all points that have these attributes; for a histogram, its count. Undefined if there is no
   * such point.
   */
  value(name: string, attributes?: Attributes): number | undefined
  /** The sum of a histogram's values. */
  sum(name: string, attributes?: Attributes): number | undefined
  /** Every name, with its unit. */
  readonly names: ReadonlyMap<string, string>
  /** Every attribute that any point has. */
  readonly attributes: ReadonlySet<string>
}

const NEVER_MS = 3_600_000

export function createTelemetry(): Telemetry {
  const spans = new InMemorySpanExporter()
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] })
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: NEVER_MS })
  const meterProvider = new MeterProvider({ readers: [reader] })
  return {
    meterProvider,
    tracerProvider,
    spans: () => spans.getFinishedSpans(),
    async collect() {
      exporter.reset()
      await meterProvider.forceFlush()
      const found = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics)
      const all = found.filter(({ scope }) => scope.name === 'txlane').flatMap(({ metrics }) => metrics)
      const points = (name: string, wanted: Attributes): DataPoint<number | Histogram>[] =>
        all
          .filter(({ descriptor }) => descriptor.name === name)
          .flatMap(({ dataPoints }) => dataPoints as DataPoint<number | Histogram>[])
          .filter(({ attributes }) => Object.entries(wanted).every(([key, is]) => attributes[key] === is))
      const total = (of: readonly DataPoint<number | Histogram>[], pick: (one: Histogram) => number) =>
        of.length === 0
          ? undefined
          : of.reduce((sum, { value }) => sum + (typeof value === 'number' ? value : pick(value)), 0)
      return {
        value: (name, wanted = {}) => total(points(name, wanted), ({ count }) => count),
        sum: (name, wanted = {}) => total(points(name, wanted), ({ sum }) => sum ?? 0),
        names: new Map(all.map(({ descriptor: { name, unit } }) => [name, unit])),
        attributes: new Set(
          all.flatMap(({ dataPoints }) => dataPoints.flatMap(({ attributes }) => Object.keys(attributes))),
        ),
      }
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([meterProvider.shutdown(), tracerProvider.shutdown()])
    },
  }
}
