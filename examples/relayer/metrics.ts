import { PrometheusExporter } from '@opentelemetry/exporter-prometheus'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import type { FastifyInstance } from 'fastify'
import type { SenderPool } from 'txlane'
import { instrument } from 'txlane/opentelemetry'
import type { Outbox } from 'txlane/outbox'

const SECONDS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/**
 * Serves metrics for Prometheus at a separate port: the lanes, the duration of requests, and waiting
 * webhooks.
 */
export function startMetrics(
  app: FastifyInstance,
  { pool, outbox, host, port }: { pool: SenderPool; outbox: Outbox; host: string; port: number },
): () => Promise<void> {
  const exporter = new PrometheusExporter({ host, port })
  const meterProvider = new MeterProvider({ readers: [exporter] })
  const off = instrument(pool, { meterProvider })
  const meter = meterProvider.getMeter('relayer')

  const duration = meter.createHistogram('http.server.request.duration', {
    description: 'Time from the arrival of a request to the end of its answer',
    unit: 's',
    advice: { explicitBucketBoundaries: SECONDS },
  })
  app.addHook('onResponse', async (request, reply) =>
    duration.record(reply.elapsedTime / 1_000, {
      'http.request.method': request.method,
      'http.route': request.routeOptions.url ?? 'unknown',
      'http.response.status_code': reply.statusCode,
    }),
  )

  const waiting = meter.createObservableGauge('relayer.webhooks.waiting', {
    description: 'Deliveries that are still to be made',
  })
  const stopped = meter.createObservableGauge('relayer.webhooks.stopped', {
    description: 'Deliveries that were given up',
  })
  meter.addBatchObservableCallback(
    async (result) => {
      const webhooks = await outbox.snapshot()
      result.observe(waiting, webhooks.waiting)
      result.observe(stopped, webhooks.stopped)
    },
    [waiting, stopped],
  )
  return async () => {
    off()
    await meterProvider.shutdown()
  }
}
