import fc from 'fast-check'

type Fields<Of> = { readonly [Field in keyof Of]: fc.Arbitrary<Of[Field]> }

/** Steps of histories for `fc.oneof`: their weight, kinds and other fields. */
export const weighed = <const Kind extends string, Of extends object>(
  weight: number,
  kinds: readonly Kind[],
  fields: Fields<Of>,
) => ({
  weight,
  arbitrary: fc.tuple(fc.constantFrom(...kinds), fc.record<Of>(fields)).map(([what, of]) => ({ do: what, ...of })),
})
