import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { Refusal } from './program.js'

/**
 * Prompts for a secret without echo.
 * @throws Refusal without a terminal; `instead` names the option to use
 */
export async function askSecret(question: string, instead: string): Promise<string> {
  if (!process.stdin.isTTY)
    throw new Refusal(`There is no terminal to prompt for the password: give ${instead}.`)
  process.stderr.write(question)
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const terminal = createInterface({ input: process.stdin, output: nowhere, terminal: true })
  try {
    return await terminal.question('')
  } finally {
    terminal.close()
    process.stderr.write('\n')
  }
}

/** Prompts for yes or no. @throws Refusal without a terminal; `instead` names the option to use */
export async function confirm(question: string, instead: string): Promise<boolean> {
  if (!process.stdin.isTTY)
    throw new Refusal(`There is no terminal to prompt for confirmation: give ${instead} to skip it.`)
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim())
  } finally {
    terminal.close()
  }
}
