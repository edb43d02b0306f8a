/** The part of MJML 5 that is used; the package has no types of its own. */
declare module 'mjml' {
  interface Options {
    readonly filePath?: string
    readonly validationLevel?: 'strict' | 'soft' | 'skip'
    readonly ignoreIncludes?: boolean
    readonly includePath?: string
    readonly minify?: boolean
    readonly fonts?: Readonly<Record<string, string>>
  }
  export default function mjml2html(
    source: string,
    options?: Options,
  ): Promise<{ readonly html: string; readonly errors: readonly unknown[] }>
}
