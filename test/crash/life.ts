import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { redactText } from '../../src/errors/redact.js'
import { systemClock } from '../../src/platform/clock.js'
import type { LifeOrder, Report } from './asks.js'

/** The results of a life. */
export type Life = {
  readonly reports: readonly Report[]
  /** The point at which it was killed; `random` if the parent's timer killed it. */
  readonly killedAt: string | undefined
  /** True if it ended by itself. */
  readonly done: boolean
  /** True if it neither ended nor was killed. */
  readonly stuck: boolean
  /** The error output of a failed life. */
  readonly stderr: string
  /** Milliseconds from its start until an endpoint accepted something. */
  readonly firstAcceptedMs: number | undefined
}

// Many times the duration of a life, even one that waits for a lease on a busy machine.
const STUCK_MS = 300_000
const STDERR_CHARACTERS = 4_000

/** Runs the child until it has ended, or kills it after `randomMs` of work. */
export async function runLife(path: string, order: LifeOrder, randomMs: number | undefined): Promise<Life> {
  const startedAtMs = systemClock.now()
  const child = spawn(process.execPath, [path], { stdio: ['pipe', 'pipe', 'pipe'] })
  const reports: Report[] = []
  let stderr = ''
  let killedAt: string | undefined
  let firstAcceptedMs: number | undefined
  let stuck = false
  const cancels: (() => void)[] = []

  function kill(why: string | undefined): void {
    if (child.exitCode !== null || child.signalCode !== null) return
    killedAt ??= why
    child.kill('SIGKILL')
  }

  cancels.push(
    systemClock.setTimer(() => {
      stuck = true
      kill(undefined)
    }, STUCK_MS),
  )
  child.stdin.on('error', () => {})
  child.stdin.end(JSON.stringify(order))
  child.stderr.on('data', (chunk: Buffer) => {
    stderr = `${stderr}${chunk.toString()}`.slice(-STDERR_CHARACTERS)
  })
  const lines = createInterface({ input: child.stdout })
  lines.on('line', (line) => {
    const reported = JSON.parse(line) as Report
    reports.push(reported)
    if (reported.report === 'works') firstAcceptedMs ??= systemClock.now() - startedAtMs
    if (reported.report === 'ends') killedAt ??= reported.point
    if (reported.report === 'end me') kill(reported.point)
    if (reported.report === 'begun' && randomMs !== undefined)
      cancels.push(systemClock.setTimer(() => kill('random'), randomMs))
  })
  const [signal] = await Promise.all([
    new Promise<string | null>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (_code, how) => resolve(how))
    }),
    new Promise<void>((resolve) => lines.once('close', resolve)),
  ])
  for (const cancel of cancels) cancel()
  return {
    reports,
    killedAt: signal === 'SIGKILL' ? killedAt : undefined,
    done: reports.at(-1)?.report === 'done',
    stuck,
    stderr: redactText(stderr),
    firstAcceptedMs,
  }
}
