/* SPDX-License-Identifier: GPL-2.0-or-later */
/* box completion SHELL, and the hidden box __complete that its scripts call. */
#include <string.h>

#include "cli/complete.h"
#include "cli/output.h"
#include "cli/session.h"

static const char bash_script[] =
	"# bash completion for box; for ~/.bashrc: source <(box completion bash)\n"
	"_box()\n"
	"{\n"
	"	local line cur=${COMP_WORDS[COMP_CWORD]}\n"
	"	COMPREPLY=()\n"
	"	while IFS= read -r line; do\n"
	"		if [[ $line == :file ]]; then\n"
	"			[[ $cur == = ]] && cur=\n"
	"			compopt -o filenames 2>/dev/null\n"
	"			mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
	"		else\n"
	"			COMPREPLY+=(\"${line%%$'\\t'*}\")\n"
	"		fi\n"
	"	done < <(\"${COMP_WORDS[0]}\" __complete -- \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\n"
	"}\n"
	"complete -F _box box\n";

static const char zsh_script[] =
	"#compdef box\n"
	"# zsh completion for box; for ~/.zshrc: source <(box completion zsh)\n"
	"_box()\n"
	"{\n"
	"	local line\n"
	"	local -a found\n"
	"	for line in ${(f)\"$(\"${words[1]}\" __complete -- \"${(@)words[2,CURRENT]}\" 2>/dev/null)\"}; do\n"
	"		if [[ $line == :file ]]; then\n"
	"			_files\n"
	"		else\n"
	"			found+=(\"${${line//:/\\\\:}/$'\\t'/:}\")\n"
	"		fi\n"
	"	done\n"
	"	(( $#found )) && _describe box found\n"
	"}\n"
	"if [[ $funcstack[1] == _box ]]; then\n"
	"	_box \"$@\"\n"
	"else\n"
	"	compdef _box box\n"
	"fi\n";

static const char fish_script[] =
	"# fish completion for box; for config.fish: box completion fish | source\n"
	"function __box_complete\n"
	"	set -l words (commandline -opc) (commandline -ct)\n"
	"	for line in ($words[1] __complete -- $words[2..-1] 2>/dev/null)\n"
	"		if test \"$line\" = :file\n"
	"			__fish_complete_path (commandline -ct)\n"
	"		else\n"
	"			echo $line\n"
	"		end\n"
	"	end\n"
	"end\n"
	"complete -c box -f -a '(__box_complete)'\n";

static const struct {
	const char *name, *script;
} shells[] = {
	{ "bash", bash_script },
	{ "zsh", zsh_script },
	{ "fish", fish_script },
};

int cmd_completion(struct session *s, const struct call *call, struct error *err)
{
	_cleanup_str_ struct str shown = STR_INIT;

	(void)s;
	for (size_t i = 0; i < ARRAY_LEN(shells); i++)
		if (str_equal(call->args[0], shells[i].name))
			return output_text(shells[i].script, err);
	str_append_escaped(&shown, call->args[0], strlen(call->args[0]), false);
	return error_set(
		err, ERROR_USAGE, "no completion for '%s': bash, zsh or fish", str_get(&shown));
}

int cmd_complete(struct session *s, const struct call *call, struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT;

	(void)s;
	complete_words(call->args, call->count, NULL, &text);
	return output_str(&text, err);
}
