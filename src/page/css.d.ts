// Style sheets are bundled separately from the code, which imports no names from them.
declare module '*.css'
