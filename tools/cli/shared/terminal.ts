import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { systemClock } from '../../../src/platform/clock.js'
import { widthOf, wrapped } from './output.js'
import { Refusal } from './program.js'

/** The input and the output of questions. */
export type Terminal = {
  readonly stdin: NodeJS.ReadableStream & {
    readonly isTTY?: boolean
    setRawMode(raw: boolean): unknown
  }
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean | undefined; readonly columns?: number }
}

/**
 * Prompts for a secret without echo.
 * @throws Refusal without a terminal; `instead` names the option to use
 */
export async function askSecret(question: string, instead: string): Promise<string> {
  if (!process.stdin.isTTY)
    throw new Refusal(`There is no terminal to prompt for the password: give ${instead}.`)
  process.stderr.write(question)
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const answer = await readLine('', process.stdin, nowhere)
  process.stderr.write('\n')
  if (answer === undefined) throw new Refusal('No password was entered.')
  return answer
}

/** Prompts for yes or no. @throws Refusal without a terminal; `instead` names the option to use */
export async function confirm(question: string, instead: string, terminal?: Terminal): Promise<boolean> {
  return /^y(es)?$/i.test((await ask(`${question} [y/N] `, instead, terminal)) ?? '')
}

/**
 * Prompts for a line. Input that was typed before the question is dropped: it is no answer to it. Resolves to
 * undefined if the input ends or is interrupted.
 * @throws Refusal without a terminal; `instead` names the option to use
 */
export async function ask(
  question: string,
  instead: string,
  terminal: Terminal = process,
): Promise<string | undefined> {
  if (!terminal.stdin.isTTY)
    throw new Refusal(`There is no terminal to prompt for confirmation: give ${instead} to skip it.`)
  await dropTyped(terminal)
  const lines = wrapped(question, widthOf(terminal.stderr) - ANSWER_CHARS).split('\n')
  const last = lines.pop() ?? ''
  for (const line of lines) terminal.stderr.write(`${line}\n`)
  return (await readLine(last, terminal.stdin, terminal.stderr))?.trim()
}

/** The room for a short answer behind the question. */
const ANSWER_CHARS = 6

async function readLine(
  question: string,
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
): Promise<string | undefined> {
  const terminal = createInterface({ input, output, terminal: true })
  // A question whose terminal was closed is never answered.
  const closed = new Promise<undefined>((resolve) => terminal.once('close', () => resolve(undefined)))
  terminal.once('SIGINT', () => terminal.close())
  try {
    return await Promise.race([terminal.question(question), closed])
  } finally {
    terminal.close()
  }
}

/** Pending input of a terminal is delivered at once; after this time there is none. */
const QUIET_MS = 50

/** Raw mode also delivers an unfinished line. */
function dropTyped({ stdin }: Terminal): Promise<void> {
  const drop = () => undefined
  stdin.setRawMode(true)
  stdin.on('data', drop)
  stdin.resume()
  return new Promise((resolve) => {
    systemClock.setTimer(() => {
      stdin.off('data', drop)
      stdin.pause()
      stdin.setRawMode(false)
      resolve()
    }, QUIET_MS)
  })
}
